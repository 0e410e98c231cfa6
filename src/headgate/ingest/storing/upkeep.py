"""Recurring work on stored content: what is not needed any more is deleted, in time."""

from __future__ import annotations

from datetime import datetime

from headgate.jobs.cron import recurring_long
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import Clock
from headgate.storage.blobs.collector import collect, sweep_orphans
from headgate.storage.blobs.opening import Files, claim_store

EVERY_FIVE_MINUTES = "*/5 * * * *"
EVERY_NIGHT = "41 3 * * *"


def collecting_kind(files: Files, clock: Clock) -> Kind[str]:
    """Return the job that gives up dead uploads, and deletes what nothing has used for long enough."""

    async def work(job: Job[str], now: datetime) -> None:
        await collect(job.database, files.store, now=now, keep_unused=files.keep_unused)

    return recurring_long("collect_files", EVERY_FIVE_MINUTES, work, clock)


def sweeping_kind(files: Files, clock: Clock) -> Kind[str]:
    """Return the job that looks for objects that no row knows, as a restored database leaves them."""

    async def work(job: Job[str], now: datetime) -> None:
        # A disk may have been unmounted since the start, and another mounted in its place.
        await claim_store(job.database, files.store, fresh_id=files.ids.new())
        await sweep_orphans(job.database, files.store, now=now)

    return recurring_long("sweep_files", EVERY_NIGHT, work, clock)
