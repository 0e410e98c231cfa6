"""Which process holds an exclusive account: one at a time, across all machines.

A hold is a row that its holder keeps renewing. It has no expiry time: another process ends it after it has
seen no renewal for long enough on its own monotonic clock, so setting a clock cannot end it early.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.jobs.engine import unroute_jobs
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

NOTICES = "headgate_hold"
"""The channel that tells which hold may have ended."""


@dataclass(frozen=True)
class HoldRow:
    """Who holds an account, and how often that was renewed."""

    token: UUID
    holder: str
    renewals: int


@dataclass(frozen=True)
class _Done:
    done: bool


async def take_hold(tx: Tx, account_id: UUID, *, token: UUID, holder: str) -> bool:
    """Hold an account that no process holds; tell whether it is ours."""
    return await tx.one(_Done, Q["take_hold"], account_id=account_id, token=token, holder=holder) is not None


async def renew_hold(tx: Tx, account_id: UUID, *, token: UUID) -> bool:
    """Show that the holder is alive; false if the hold has ended."""
    return await tx.one(_Done, Q["renew_hold"], account_id=account_id, token=token) is not None


async def get_hold(tx: Tx, account_id: UUID) -> HoldRow | None:
    return await tx.one(HoldRow, Q["get_hold"], account_id=account_id)


async def end_hold(
    tx: Tx, account_id: UUID, *, token: UUID | None = None, renewals: int | None = None
) -> bool:
    """End a hold and give its jobs to all workers, unless it is another's or was renewed meanwhile.

    The row goes first: a job that is being routed to the holder holds on to it, and is found afterwards.
    """
    ended = await tx.one(_Done, Q["end_hold"], account_id=account_id, token=token, renewals=renewals)
    if ended is None:
        return False
    await unroute_jobs(tx, account_id)
    await notify_hold(tx, account_id)
    return True


async def notify_hold(tx: Tx, account_id: UUID) -> None:
    """Make the holder of an account, and those that wait for it, look at it when this commits."""
    await tx.execute(Q["notify_hold"], account_id=account_id)
