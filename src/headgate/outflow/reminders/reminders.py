"""Reminders: making, changing, pausing and removing plans. Each request is one transaction.

Every change locks the reminder first, as firing does: a fire sees all of a change or none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.reminders.recurrence import check_fires, describe, next_fire
from headgate.kernel.ids import Ids
from headgate.outflow.reminders.drafts import MAX_TITLE, CheckedDraft, Draft, check_draft
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.reminders import reminder_overview, reminders
from headgate.storage.reminders.reminder_overview import FullReminder
from headgate.storage.reminders.reminders import Reminder, ReminderState

CHANGED = Event("reminders")


@dataclass(frozen=True)
class Saved:
    """A reminder that was kept, and what its author should know."""

    id: UUID
    due_at: datetime | None
    """When it fires next."""
    targets: int
    warnings: tuple[str, ...] = ()


async def create(tx: Tx, draft: Draft, *, ids: Ids, now: datetime, state: ReminderState = "active") -> Saved:
    """Keep a new reminder."""
    checked = await check_draft(tx, draft, now=now)
    due_at = next_fire(draft.schedule, draft.zone, after=now) if state == "active" else None
    reminder_id = ids.new()
    await reminders.insert_reminder(tx, reminder_id, checked.content, due_at=due_at, state=state, now=now)
    return await _saved(tx, reminder_id, checked, due_at)


async def update(tx: Tx, reminder_id: UUID, draft: Draft, *, now: datetime) -> Saved:
    """Replace everything in a reminder; a run in progress does not change.

    A new schedule counts from now on: what it would have fired before is not made up for.
    """
    known = await _locked(tx, reminder_id)
    if known.state == "archived":
        raise UserError(f"{known.title!r} is archived.", remedy="Restore it from the archive first.")
    old = (known.schedule, known.zone)
    checked = await check_draft(tx, draft, now=now, known_schedule=old)
    fired_until = known.fired_until if (draft.schedule, draft.zone) == old else now
    due_at = None
    if known.state == "active":
        due_at = next_fire(draft.schedule, draft.zone, after=fired_until)
    await reminders.update_reminder(
        tx, reminder_id, checked.content, fired_until=fired_until, due_at=due_at, now=now
    )
    return await _saved(tx, reminder_id, checked, due_at)


async def _saved(tx: Tx, reminder_id: UUID, checked: CheckedDraft, due_at: datetime | None) -> Saved:
    await publish(tx, CHANGED)
    return Saved(reminder_id, due_at, checked.check.total, checked.warnings)


async def pause(tx: Tx, reminder_id: UUID, *, now: datetime) -> None:
    """Let a reminder fire no more until it is resumed; a run under way goes on."""
    known = await _locked(tx, reminder_id)
    if known.state == "archived":
        raise UserError(f"{known.title!r} is archived and is not sent.")
    await _set_state(tx, known, "paused", now=now)


async def resume(tx: Tx, reminder_id: UUID, *, now: datetime) -> datetime:
    """Let a reminder fire again, and return when; what it missed meanwhile is not made up for."""
    known = await _locked(tx, reminder_id)
    if known.state == "archived":
        raise UserError(f"{known.title!r} is archived.", remedy="Restore it from the archive first.")
    check_fires(known.schedule, known.window)
    due_at = next_fire(known.schedule, known.zone, after=now)
    if due_at is None:
        raise UserError(
            f"{known.title!r} is not sent any more: {describe(known.schedule)} ({known.zone}) is over.",
            remedy="Give it another time.",
        )
    if known.state == "active":
        # What is due stays due: only a pause leaves something out.
        return known.due_at or due_at
    await _set_state(tx, known, "active", due_at=due_at, now=now)
    return due_at


async def archive(tx: Tx, reminder_id: UUID, *, now: datetime) -> None:
    """Put a reminder away, with its history; a run under way goes on."""
    await _set_state(tx, await _locked(tx, reminder_id), "archived", now=now)


async def unarchive(tx: Tx, reminder_id: UUID, *, now: datetime) -> None:
    """Take a reminder out of the archive; it is paused until it is resumed."""
    known = await _locked(tx, reminder_id)
    if known.state == "archived":
        await _set_state(tx, known, "paused", now=now)


async def duplicate(tx: Tx, reminder_id: UUID, *, ids: Ids, now: datetime) -> UUID:
    """Make a paused copy, and return its id."""
    known = await _locked(tx, reminder_id)
    new_id = ids.new()
    title = f"Copy of {known.title}"[:MAX_TITLE]
    await reminders.copy_reminder(tx, reminder_id, new_id=new_id, title=title, now=now)
    await publish(tx, CHANGED)
    return new_id


async def delete(tx: Tx, reminder_id: UUID) -> None:
    """Delete a reminder with its history; refused during a run."""
    known = await _locked(tx, reminder_id)
    active = await reminders.count_active_runs(tx, reminder_id)
    if active:
        said = "A run" if active == 1 else f"{active} runs"
        raise UserError(
            f"{said} of {known.title!r} {'has' if active == 1 else 'have'} not ended yet.",
            remedy="Cancel it first, or wait until it ends.",
        )
    await reminders.delete_reminder(tx, reminder_id)
    await publish(tx, CHANGED)


async def get(tx: Tx, reminder_id: UUID) -> FullReminder:
    """Return a reminder with all that belongs to it."""
    full = await reminder_overview.get_reminder(tx, reminder_id)
    if full is None:
        raise no_such_reminder()
    return full


async def _set_state(
    tx: Tx, known: Reminder, state: ReminderState, *, due_at: datetime | None = None, now: datetime
) -> None:
    await reminders.set_schedule(tx, known.id, state=state, fired_until=now, due_at=due_at, now=now)
    await publish(tx, CHANGED)


async def _locked(tx: Tx, reminder_id: UUID) -> Reminder:
    known = await reminders.lock_reminder(tx, reminder_id)
    if known is None:
        raise no_such_reminder()
    return known


def no_such_reminder() -> NotFound:
    return NotFound("There is no such reminder.", command="headgate reminder list")
