"""Recurring kinds: work that is due by a schedule (UTC, product time) instead of by its own rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from croniter import croniter

from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, RunnerName
from headgate.kernel.clock import Clock
from headgate.storage.database import Database, Tx
from headgate.storage.jobs import cron

ONLY_KEY = "all"


def next_after(schedule: str, moment: datetime) -> datetime:
    """Return the first time of a cron expression after a moment."""
    return croniter(schedule, moment).get_next(datetime)


@dataclass(frozen=True)
class CronRows:
    """The one row of a recurring kind."""

    kind: str
    schedule: str

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await cron.list_due_cron(tx, kind=self.kind, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: str, *, until: datetime, now: datetime) -> None:
        """A recurring job that died is due again at its next time: its schedule is not the culprit."""
        due_at = next_after(self.schedule, now)
        await cron.set_cron_due(tx, kind=self.kind, key=key, due_at=due_at)

    async def reopen(self, tx: Tx, key: str, *, now: datetime) -> None:
        await cron.wake_cron(tx, kind=self.kind, key=key, now=now)


Recurring = Callable[[Tx, datetime], Awaitable[None]]


LongWork = Callable[[Job[str], datetime], Awaitable[None]]


def recurring(
    name: str, schedule: str, work: Recurring, clock: Clock, *, runner: RunnerName = "fast"
) -> Kind[str]:
    """Return a kind that does its work in the transaction that completes it."""

    async def nothing(_job: Job[str], _now: datetime) -> None: ...

    return _recurring(name, schedule, clock, before=nothing, within=work, runner=runner)


def recurring_long(
    name: str, schedule: str, work: LongWork, clock: Clock, *, runner: RunnerName = "bulk"
) -> Kind[str]:
    """Return a kind that does its work in transactions of its own, which are safe to repeat."""

    async def nothing(_tx: Tx, _now: datetime) -> None: ...

    return _recurring(name, schedule, clock, before=work, within=nothing, runner=runner)


def _recurring(
    name: str, schedule: str, clock: Clock, *, before: LongWork, within: Recurring, runner: RunnerName
) -> Kind[str]:
    async def handle(job: Job[str]) -> None:
        async with job.database.transaction() as tx:
            row = await cron.get_cron(tx, kind=name, key=job.key)
        await before(job, clock.now())
        async with job.finish() as tx:
            now = clock.now()
            await within(tx, now)
            await cron.end_cron(
                tx,
                kind=name,
                key=job.key,
                seen=row.wake_seq if row else 0,
                next_at=next_after(schedule, now),
                now=now,
            )

    return Kind(name=name, parse_key=str, handle=handle, rows=CronRows(name, schedule), runner=runner)


async def install_schedules(database: Database, kinds: Iterable[Kind[Any]], *, now: datetime) -> None:
    """Make sure that every recurring kind has its row; due times survive restarts."""
    async with database.transaction() as tx:
        for kind in kinds:
            if isinstance(kind.rows, CronRows):
                schedule = kind.rows.schedule
                await cron.upsert_cron(
                    tx, kind=kind.name, key=ONLY_KEY, schedule=schedule, due_at=next_after(schedule, now)
                )
