"""Enqueueing and cancelling, in the caller's own transaction."""

from __future__ import annotations

from collections.abc import Iterable

from headgate.jobs.kinds import Wake
from headgate.storage.database import Tx
from headgate.storage.jobs import engine


async def enqueue(tx: Tx, wakes: Iterable[Wake]) -> int:
    """Enqueue wake-ups; one that is queued or running already is passed over. Returns how many are new.

    A wake-up that is passed over is not lost if its row says so too: raise the row's `wake_seq` in the same
    transaction, and the running job makes it due again when it ends.
    """
    listed = list(dict.fromkeys(wakes))
    if not listed:
        return 0
    return await engine.enqueue_jobs(
        tx,
        kinds=[wake.kind for wake in listed],
        keys=[wake.key for wake in listed],
        priorities=[wake.priority for wake in listed],
    )


async def cancel(tx: Tx, wakes: Iterable[Wake]) -> int:
    """Take queued and running jobs away; what a running one does afterwards has no effect."""
    return await engine.cancel_jobs(tx, [wake.dedupe_key for wake in wakes])
