"""Reminders: what is to be sent to whom, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.reminders.recurrence import Schedule
from headgate.domain.reminders.windows import Window
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

ReminderState = Literal["active", "paused", "archived"]
AtClose = Literal["stop", "carry"]


@dataclass(frozen=True)
class Reminder:
    """One plan, without its parts and targets."""

    id: UUID
    title: str
    account_id: UUID | None
    account_name: str
    platform: str
    zone: str
    once_at: datetime | None
    cron: str
    window_start: int
    window_end: int
    at_close: AtClose
    state: ReminderState
    fired_until: datetime
    due_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.once_at, self.cron)

    @property
    def window(self) -> Window:
        return Window(self.window_start, self.window_end, self.zone)


@dataclass(frozen=True)
class PlanContent:
    """What a person writes down of a reminder."""

    title: str
    account_id: UUID
    schedule: Schedule
    window: Window
    at_close: AtClose
    texts: Sequence[str]
    """One a part, in their order."""
    media_ids: Sequence[UUID | None]
    target_ids: Sequence[UUID]
    list_ids: Sequence[UUID]


@dataclass(frozen=True)
class PlanCheck:
    """What a plan names, held against what there is."""

    account_name: str
    platform: str
    strange_targets: int
    strange_lists: int
    strange_media: int
    total: int
    unseen: int
    """Targets that the account does not see."""


async def check_plan(tx: Tx, content: PlanContent) -> PlanCheck | None:
    """Look up what a plan names; nothing if there is no such account."""
    return await tx.one(
        PlanCheck,
        Q["check_plan"],
        account_id=content.account_id,
        target_ids=list(content.target_ids),
        list_ids=list(content.list_ids),
        media_ids=[media_id for media_id in content.media_ids if media_id is not None],
    )


async def insert_reminder(
    tx: Tx,
    reminder_id: UUID,
    content: PlanContent,
    *,
    due_at: datetime | None,
    state: ReminderState,
    now: datetime,
) -> None:
    """Store a new reminder; its fires up to now are none of its business."""
    await tx.execute(
        Q["insert_reminder"],
        id=reminder_id,
        state=state,
        fired_until=now,
        due_at=due_at,
        now=now,
        **_columns(content),
    )
    await _insert_content(tx, reminder_id, content)


async def update_reminder(
    tx: Tx,
    reminder_id: UUID,
    content: PlanContent,
    *,
    fired_until: datetime,
    due_at: datetime | None,
    now: datetime,
) -> None:
    """Replace all that a person plans."""
    await tx.execute(
        Q["update_reminder"],
        id=reminder_id,
        fired_until=fired_until,
        due_at=due_at,
        now=now,
        **_columns(content),
    )
    await tx.execute(Q["delete_parts"], reminder_id=reminder_id)
    await tx.execute(Q["delete_targets"], reminder_id=reminder_id)
    await tx.execute(Q["delete_lists"], reminder_id=reminder_id)
    await _insert_content(tx, reminder_id, content)


def _columns(content: PlanContent) -> dict[str, object]:
    return {
        "title": content.title,
        "account_id": content.account_id,
        "zone": content.window.zone,
        "once_at": content.schedule.once,
        "cron": content.schedule.cron,
        "window_start": content.window.start,
        "window_end": content.window.end,
        "at_close": content.at_close,
    }


async def _insert_content(tx: Tx, reminder_id: UUID, content: PlanContent) -> None:
    await tx.execute(
        Q["insert_parts"],
        reminder_id=reminder_id,
        texts=list(content.texts),
        media_ids=list(content.media_ids),
    )
    await tx.execute(Q["insert_targets"], reminder_id=reminder_id, target_ids=list(content.target_ids))
    await tx.execute(Q["insert_lists"], reminder_id=reminder_id, list_ids=list(content.list_ids))


async def lock_reminder(tx: Tx, reminder_id: UUID) -> Reminder | None:
    """Return a reminder, locked until the transaction ends."""
    return await tx.one(Reminder, Q["lock_reminder"], id=reminder_id)


async def set_schedule(
    tx: Tx,
    reminder_id: UUID,
    *,
    state: ReminderState,
    fired_until: datetime,
    due_at: datetime | None,
    now: datetime,
) -> None:
    """Change the state of a reminder, and with it when it fires next."""
    await tx.execute(
        Q["set_schedule"], id=reminder_id, state=state, fired_until=fired_until, due_at=due_at, now=now
    )


async def note_fired(tx: Tx, reminder_id: UUID, *, fired_until: datetime, due_at: datetime | None) -> None:
    """Write down that fires were dealt with, and when the next one is."""
    await tx.execute(Q["note_fired"], id=reminder_id, fired_until=fired_until, due_at=due_at)


async def copy_reminder(tx: Tx, reminder_id: UUID, *, new_id: UUID, title: str, now: datetime) -> None:
    """Make a paused copy with the same parts, targets and lists."""
    await tx.execute(Q["copy_reminder"], id=reminder_id, new_id=new_id, title=title, now=now)
    await tx.execute(Q["copy_parts"], id=reminder_id, new_id=new_id)
    await tx.execute(Q["copy_targets"], id=reminder_id, new_id=new_id)
    await tx.execute(Q["copy_lists"], id=reminder_id, new_id=new_id)


async def count_active_runs(tx: Tx, reminder_id: UUID) -> int:
    return await tx.value(Q["count_active_runs"], id=reminder_id)


async def delete_reminder(tx: Tx, reminder_id: UUID) -> None:
    await tx.execute(Q["take_time"])
    await tx.execute(Q["delete_reminder"], id=reminder_id)


async def list_due(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    """Return the keys of reminders that are to fire and have no job."""
    return await tx.column(Q["list_due"], now=now, limit=limit)


async def postpone(tx: Tx, reminder_id: UUID, *, until: datetime) -> None:
    await tx.execute(Q["postpone"], id=reminder_id, until=until)


async def reopen(tx: Tx, reminder_id: UUID, *, now: datetime) -> None:
    await tx.execute(Q["reopen"], id=reminder_id, now=now)


async def list_of_account(tx: Tx, account_id: UUID) -> list[str]:
    """Return the titles of the reminders that an account sends."""
    return await tx.column(Q["list_of_account"], account_id=account_id)


async def list_left_alone(tx: Tx, list_id: UUID) -> list[str]:
    """Return the titles of the reminders of a list that have nobody to send to as it is now."""
    return await tx.column(Q["list_left_alone"], list_id=list_id)
