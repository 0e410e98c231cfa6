"""How long things are kept that only explain the past: ended work, runs, scans, calls, changes of lanes."""

from __future__ import annotations

from datetime import datetime, timedelta

from headgate.jobs import letters
from headgate.jobs.cron import recurring
from headgate.jobs.kinds import Kind, Kinds
from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.settings import JobsSettings
from headgate.storage.access import login_attempts
from headgate.storage.channels import account_logins
from headgate.storage.database import Tx
from headgate.storage.jobs import engine
from headgate.storage.lanes import lanes
from headgate.storage.reminders import media
from headgate.storage.sending import run_controls
from headgate.storage.streams import scans

KEEP_LANE_CHANGES = timedelta(days=30)
KEEP_SCANS = timedelta(days=30)
KEEP_LANE_DAYS = timedelta(days=100)
KEEP_UNUSED_MEDIA = timedelta(days=1)


def retention_kind(
    settings: JobsSettings, clock: Clock, kinds: Kinds, *, real_clock: Clock | None = None
) -> Kind[str]:
    """Return the recurring job that prunes; `kinds` are those whose dead letters are pruned."""
    real = real_clock or RealClock()

    async def prune(tx: Tx, now: datetime) -> None:
        await engine.prune_log(tx, keep=settings.keep_completed, keep_s=settings.keep_completed_s)
        before = now - timedelta(seconds=settings.keep_dead_s)
        await letters.prune(tx, kinds, keep=settings.keep_dead, before=before, now=now)
        await lanes.delete_old_lane_changes(tx, keep_s=KEEP_LANE_CHANGES.total_seconds())
        await lanes.delete_old_lane_days(tx, keep_s=KEEP_LANE_DAYS.total_seconds())
        await scans.prune_history(tx, before=now - KEEP_SCANS)
        if settings.keep_runs_days:
            await run_controls.delete_old_runs(tx, before=now - timedelta(days=settings.keep_runs_days))
        await media.delete_unused(tx, before=now - KEEP_UNUSED_MEDIA)
        forget_before = real.now() - login_attempts.FORGET_AFTER
        await login_attempts.delete_old_attempts(tx, forget_before=forget_before)
        await account_logins.delete_expired_logins(tx, now=real.now())

    return recurring("retention", "*/5 * * * *", prune, clock)
