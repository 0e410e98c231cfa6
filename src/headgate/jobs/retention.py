"""How long ended work is kept: completed jobs shortly, dead letters longer, kept ones for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

from headgate.jobs.cron import recurring
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import Clock
from headgate.kernel.settings import JobsSettings
from headgate.storage import dead_letters, engine
from headgate.storage.database import Tx


def retention_kind(settings: JobsSettings, clock: Clock) -> Kind[str]:
    """Return the recurring job that prunes ended work."""

    async def prune(tx: Tx, now: datetime) -> None:
        await engine.prune_log(tx, keep=settings.keep_completed, keep_s=settings.keep_completed_s)
        before = now - timedelta(seconds=settings.keep_dead_s)
        await dead_letters.prune_dead_letters(tx, keep=settings.keep_dead, before=before)

    return recurring("retention", "*/5 * * * *", prune, clock)
