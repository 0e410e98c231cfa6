"""Firing: when the time of a reminder has come, it gets a run, exactly one for each fire.

All of it is one transaction with the end of the job: the run, how far the fires are dealt with, and when the
next one is. A process that dies before the commit has done nothing, one that dies after it has done all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.reminders.recurrence import count_fires, last_fire, next_fire
from headgate.domain.reminders.windows import minute_text
from headgate.domain.wall_time import find_zone
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.outflow.reminders.runs import CHANGED, make_run_of, record_missed
from headgate.storage.database import Tx
from headgate.storage.events import publish
from headgate.storage.reminders import reminders
from headgate.storage.reminders.reminders import Reminder
from headgate.storage.sending import run_making

log = get_logger("outflow")

KIND = "fire"
MAX_COUNTED = 1000


class ReminderRows:
    """Reminders that are to fire, as the work of the kind `fire`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await reminders.list_due(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await reminders.postpone(tx, key, until=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await reminders.reopen(tx, key, now=now)


@dataclass(frozen=True)
class Fires:
    """The pending fires of a reminder."""

    first: datetime
    last: datetime
    count: int

    def in_words(self, zone: str) -> str:
        """Return how many were missed, and when."""
        place = find_zone(zone)
        first, last = (f"{at.astimezone(place):%Y-%m-%d %H:%M}" for at in (self.first, self.last))
        if self.count == 1:
            return f"The send of {last} ({zone}) was missed"
        number = f"{self.count:,}" if self.count < MAX_COUNTED else f"{MAX_COUNTED:,} or more"
        return f"{number} sends from {first} to {last} ({zone}) were missed"


def fires_of(reminder: Reminder, *, now: datetime) -> Fires | None:
    """Return the fires of a reminder since the last time, however long the service was down."""
    schedule, zone, after = reminder.schedule, reminder.zone, reminder.fired_until
    first = next_fire(schedule, zone, after=after)
    last = last_fire(schedule, zone, after=after, until=now)
    if first is None or last is None:
        return None
    return Fires(first, last, count_fires(schedule, zone, after=after, until=now, most=MAX_COUNTED))


def reason_to_miss(reminder: Reminder, fires: Fires, *, targets: int, now: datetime) -> str:
    """Return why the last fire comes to nothing; empty if it gets its run."""
    if reminder.account_id is None:
        return "the account that sent this reminder was removed"
    if not targets:
        return "there was nobody to send to"
    closes_at = reminder.window.stretch(fires.last).closes_at
    if closes_at is not None and now >= closes_at:
        return (
            "Headgate was not running at the time, and the delivery window closed at"
            f" {minute_text(reminder.window_end)}"
        )
    return ""


@dataclass(frozen=True)
class Firing:
    """Makes the runs of reminders whose time has come."""

    clock: Clock
    ids: Ids

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.fire, rows=ReminderRows())

    async def fire(self, job: Job[UUID]) -> None:
        """Give the last fire that is due its run, or record it as missed; then wait for the next."""
        async with job.finish() as tx:
            await self.fire_reminder(tx, job.key)

    async def fire_reminder(self, tx: Tx, reminder_id: UUID) -> None:
        reminder = await reminders.lock_reminder(tx, reminder_id)
        if reminder is None or reminder.state != "active":
            return
        now = self.clock.now()
        fires = fires_of(reminder, now=now)
        if fires is not None:
            await self._settle(tx, reminder, fires, now=now)
        # A clock that was set back must not let the same fires come again.
        fired_until = max(now, reminder.fired_until)
        due_at = next_fire(reminder.schedule, reminder.zone, after=fired_until)
        await reminders.note_fired(tx, reminder_id, fired_until=fired_until, due_at=due_at)

    async def _settle(self, tx: Tx, reminder: Reminder, fires: Fires, *, now: datetime) -> None:
        targets = await run_making.count_targets(tx, reminder.id)
        reason = reason_to_miss(reminder, fires, targets=targets, now=now)
        if reason:
            summary = f"{fires.in_words(reminder.zone)}: {reason}."
            await record_missed(tx, reminder, fire_at=fires.last, summary=summary, now=now, ids=self.ids)
            return
        if await self._join(tx, reminder, fires):
            return
        if fires.count > 1:
            log.info("fires were missed; the last one is sent", title=reminder.title, fires=fires.count)
        await make_run_of(tx, reminder, trigger="schedule", fire_at=fires.last, now=now, ids=self.ids)

    async def _join(self, tx: Tx, reminder: Reminder, fires: Fires) -> bool:
        """Let a fire count with a run that is still under way, so that runs do not pile up."""
        other = await run_making.find_run_under_way(tx, reminder.id)
        if other is None or not await run_making.join_run(tx, other.id):
            return False
        log.info("a run is still under way; no other begins", title=reminder.title, fires=fires.count)
        await publish(tx, CHANGED)
        return True
