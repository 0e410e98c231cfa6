"""Reminders: plans of messages to groups."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Protocol
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field, NaiveDatetime

from headgate.domain.reminders.recurrence import Schedule, describe
from headgate.domain.reminders.windows import Window, minute_text, parse_minute
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft, DraftPart, draft_of
from headgate.outflow.reminders.previews import Preview, preview
from headgate.outflow.reminders.reminders import Saved
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import (
    ChosenList,
    ChosenTarget,
    FullReminder,
    ReminderCursor,
    ReminderLine,
    ReminderPart,
    list_reminders,
)
from headgate.storage.reminders.reminders import Reminder
from headgate.web.api.reminders.targets import MANY_IDS_BYTES
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite, Site

routes = Routes("/api/v1", in_schema=True)

State = Literal["active", "paused", "archived"]
AtClose = Literal["stop", "carry"]


class PartBody(BaseModel):
    """One message: a text, or a file with an optional text."""

    text: str = ""
    media_id: UUID | None = None


class DraftBody(BaseModel):
    """The contents of a reminder; give either `once_at` or `cron`."""

    title: str
    account_id: UUID
    parts: list[PartBody]
    targets: list[UUID] = []
    lists: list[UUID] = []
    zone: str = Field(max_length=100)
    once_at: NaiveDatetime | None = Field(
        default=None, description="Local time in the zone, without an offset."
    )
    cron: str = Field(default="", max_length=200)
    window_start: str = "06:00"
    window_end: str = "18:00"
    at_close: AtClose = "stop"

    def draft(self) -> Draft:
        return Draft(
            title=self.title,
            account_id=self.account_id,
            parts=tuple(DraftPart(part.text, part.media_id) for part in self.parts),
            schedule=Schedule(self.once_at, self.cron.strip()),
            window=Window(parse_minute(self.window_start), parse_minute(self.window_end), self.zone),
            targets=tuple(self.targets),
            lists=tuple(self.lists),
            at_close=self.at_close,
        )


class ReminderAnswer(BaseModel):
    """A reminder without its messages and targets."""

    id: UUID
    title: str
    account_id: UUID | None
    account_name: str
    schedule: str
    zone: str
    once_at: datetime | None
    cron: str
    window_start: str
    window_end: str
    at_close: AtClose
    state: State
    due_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @staticmethod
    def fields_of(reminder: Reminder) -> dict[str, Any]:
        times = {
            "schedule": describe(reminder.schedule),
            "window_start": minute_text(reminder.window_start),
            "window_end": minute_text(reminder.window_end),
        }
        return vars(reminder) | times


class ReminderLineAnswer(ReminderAnswer):
    """A reminder in a list, with its counts and its last run."""

    parts: int
    targets: int
    last_run_id: UUID | None
    last_run_state: str | None
    last_run_at: datetime | None
    last_run_total: int
    last_run_sent: int
    trouble: str
    """Why it can send nothing as it stands; empty if it can."""

    @classmethod
    def of(cls, line: ReminderLine) -> ReminderLineAnswer:
        return cls.model_validate({**cls.fields_of(line), "trouble": line.trouble})


class FullReminderAnswer(ReminderAnswer):
    """A reminder with its messages, targets and schedule; the warnings are from saving it."""

    parts: tuple[ReminderPart, ...]
    targets: tuple[ChosenTarget, ...]
    lists: tuple[ChosenList, ...]
    groups: int
    """How many it sends to, with those of its lists, each once."""
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, full: FullReminder, saved: Saved | None = None) -> FullReminderAnswer:
        warnings = () if saved is None else saved.warnings
        return cls.model_validate(vars(full) | cls.fields_of(full.reminder) | {"warnings": warnings})


class RemindersAnswer(BaseModel):
    """A page of reminders, newest first; pass `next` as `before` to get the next page."""

    reminders: list[ReminderLineAnswer]
    next: str | None


@routes.get("/reminders", door=scope("read"), tags=["reminders"])
async def list_all(
    site: CurrentSite,
    state: State | None = None,
    before: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RemindersAnswer:
    """List reminders, newest first."""
    below = read_time_cursor(before, ReminderCursor)
    async with site.transaction() as tx:
        found = await list_reminders(tx, state=state, below=below, limit=limit + 1)
    lines, following = cut_page(found, limit, lambda line: time_cursor(line.created_at, line.id))
    return RemindersAnswer(reminders=[ReminderLineAnswer.of(line) for line in lines], next=following)


@routes.post(
    "/reminders",
    door=scope("write"),
    status_code=201,
    tags=["reminders"],
    largest_body_bytes=MANY_IDS_BYTES,
)
async def create(site: CurrentSite, body: DraftBody) -> FullReminderAnswer:
    """Create a reminder; its schedule starts now."""
    async with site.transaction() as tx:
        saved = await reminders.create(tx, body.draft(), ids=site.parts.ids, now=site.parts.clock.now())
        return FullReminderAnswer.of(await reminders.get(tx, saved.id), saved)


@routes.post("/reminders/preview", door=scope("read"), tags=["reminders"], largest_body_bytes=MANY_IDS_BYTES)
async def preview_draft(site: CurrentSite, body: DraftBody) -> Preview:
    """Check a draft and preview it; nothing is stored."""
    async with site.transaction() as tx:
        return await preview(tx, body.draft(), now=site.parts.clock.now())


@routes.get("/reminders/{reminder_id}", door=scope("read"), tags=["reminders"])
async def get(site: CurrentSite, reminder_id: UUID) -> FullReminderAnswer:
    """Show a reminder with its messages, targets and schedule."""
    async with site.transaction() as tx:
        return FullReminderAnswer.of(await reminders.get(tx, reminder_id))


@routes.get("/reminders/{reminder_id}/preview", door=scope("read"), tags=["reminders"])
async def preview_kept(site: CurrentSite, reminder_id: UUID) -> Preview:
    """Show when a reminder is sent next, and what its first groups will read."""
    async with site.transaction() as tx:
        draft = draft_of(await reminders.get(tx, reminder_id))
        return await preview(tx, draft, now=site.parts.clock.now(), known=True)


@routes.post(
    "/reminders/{reminder_id}", door=scope("write"), tags=["reminders"], largest_body_bytes=MANY_IDS_BYTES
)
async def update(site: CurrentSite, reminder_id: UUID, body: DraftBody) -> FullReminderAnswer:
    """Replace everything in a reminder; a run in progress does not change."""
    async with site.transaction() as tx:
        saved = await reminders.update(tx, reminder_id, body.draft(), now=site.parts.clock.now())
        return FullReminderAnswer.of(await reminders.get(tx, reminder_id), saved)


@routes.post("/reminders/{reminder_id}/pause", door=scope("write"), tags=["reminders"])
async def pause(site: CurrentSite, reminder_id: UUID) -> FullReminderAnswer:
    """Pause a reminder until it is resumed."""
    return await _change(site, reminder_id, reminders.pause)


@routes.post("/reminders/{reminder_id}/resume", door=scope("write"), tags=["reminders"])
async def resume(site: CurrentSite, reminder_id: UUID) -> FullReminderAnswer:
    """Resume a reminder; missed sends are not sent later."""
    return await _change(site, reminder_id, reminders.resume)


@routes.post("/reminders/{reminder_id}/archive", door=scope("write"), tags=["reminders"])
async def archive(site: CurrentSite, reminder_id: UUID) -> FullReminderAnswer:
    """Archive a reminder; it is not sent any more."""
    return await _change(site, reminder_id, reminders.archive)


@routes.post("/reminders/{reminder_id}/unarchive", door=scope("write"), tags=["reminders"])
async def unarchive(site: CurrentSite, reminder_id: UUID) -> FullReminderAnswer:
    """Restore a reminder from the archive, paused."""
    return await _change(site, reminder_id, reminders.unarchive)


@routes.post("/reminders/{reminder_id}/duplicate", door=scope("write"), status_code=201, tags=["reminders"])
async def duplicate(site: CurrentSite, reminder_id: UUID) -> FullReminderAnswer:
    """Copy a reminder; the copy is paused."""
    async with site.transaction() as tx:
        new_id = await reminders.duplicate(tx, reminder_id, ids=site.parts.ids, now=site.parts.clock.now())
        return FullReminderAnswer.of(await reminders.get(tx, new_id))


@routes.delete("/reminders/{reminder_id}", door=scope("write"), status_code=204, tags=["reminders"])
async def delete(site: CurrentSite, reminder_id: UUID) -> None:
    """Delete a reminder with its history; refused during a run."""
    async with site.transaction() as tx:
        await reminders.delete(tx, reminder_id)


class _Action(Protocol):
    async def __call__(self, tx: Tx, reminder_id: UUID, /, *, now: datetime) -> object: ...


async def _change(site: Site, reminder_id: UUID, action: _Action) -> FullReminderAnswer:
    async with site.transaction() as tx:
        await action(tx, reminder_id, now=site.parts.clock.now())
        return FullReminderAnswer.of(await reminders.get(tx, reminder_id))
