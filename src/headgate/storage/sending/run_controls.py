"""What people do to runs: pause, resume, cancel, try again, say what became of a message."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.reminders.run_results import DeliveryState
from headgate.domain.reminders.windows import Stretch
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

MAX_RUNS = 100
MAX_DELIVERIES = 10_000
"""What one pass of the retention deletes at most; a larger run goes alone."""


async def pause_run(tx: Tx, run_id: UUID, *, reason: str) -> bool:
    return await tx.execute(Q["pause_run"], run_id=run_id, reason=reason) == 1


async def count_active_runs(tx: Tx, account_id: UUID) -> int:
    """Return how many runs of an account are under way; until the transaction ends no other begins."""
    await tx.execute(Q["hold_account"], account_id=account_id)
    return await tx.value(Q["count_active_runs"], account_id=account_id)


async def reopen_run(tx: Tx, run_id: UUID, stretch: Stretch, *, reason: str, now: datetime) -> None:
    """Let a run go on in a stretch of its window."""
    await tx.execute(
        Q["reopen_run"],
        run_id=run_id,
        opens_at=stretch.opens_at,
        closes_at=stretch.closes_at,
        reason=reason,
        now=now,
    )


async def cancel_run(tx: Tx, run_id: UUID, *, now: datetime) -> bool:
    return await tx.execute(Q["cancel_run"], run_id=run_id, now=now) == 1


async def take_up_deliveries(
    tx: Tx, run_id: UUID, states: Sequence[DeliveryState], *, delivery: int | None = None
) -> int:
    """Plan deliveries in some states anew, or one of them; return how many."""
    return await tx.value(Q["take_up_deliveries"], run_id=run_id, states=list(states), delivery=delivery)


async def accept_uncertain(tx: Tx, run_id: UUID, delivery: int, *, now: datetime) -> bool:
    """Take an uncertain message of a delivery as sent."""
    return await tx.execute(Q["accept_uncertain"], run_id=run_id, delivery=delivery, now=now) == 1


async def find_remainder(tx: Tx, run_id: UUID) -> str | None:
    """Return the name of the account that took over what a run has not delivered."""
    return await tx.value(Q["find_remainder"], run_id=run_id)


async def delete_old_runs(tx: Tx, *, before: datetime) -> int:
    """Delete runs that ended before a time, a bounded number of them; returns how many.

    Requests of the library that ended before it go too.
    """
    await tx.execute(Q["take_time"])
    await tx.execute(Q["delete_old_requests"], before=before)
    return await tx.execute(
        Q["delete_old_runs"], before=before, most_runs=MAX_RUNS, most_deliveries=MAX_DELIVERIES
    )
