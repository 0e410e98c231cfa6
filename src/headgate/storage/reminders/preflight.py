"""What a forecast is made of, beside the lanes: who sends, to how many, and what waits already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.reminders.forecast import Queued
from headgate.domain.reminders.windows import Window
from headgate.storage.channels.channels import AccountState
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.reminders.reminders import AtClose

Q = load_queries(__name__)


@dataclass(frozen=True)
class Scope:
    """Who is to send, and to how many groups."""

    account_name: str
    platform: str
    state: AccountState
    state_reason: str
    established: bool
    targets: int


@dataclass(frozen=True)
class Unsent:
    """What a run has still to send."""

    messages: int
    targets: int


@dataclass(frozen=True)
class AbleAccount:
    """Another account, and how many of the groups it can write to."""

    name: str
    targets: int


@dataclass(frozen=True)
class _QueuedRow:
    window_start: int
    window_end: int
    zone: str
    at_close: AtClose
    messages: int


async def get_scope(
    tx: Tx, account_id: UUID, *, target_ids: Sequence[UUID] = (), list_ids: Sequence[UUID] = ()
) -> Scope | None:
    return await tx.one(
        Scope,
        Q["get_scope"],
        account_id=account_id,
        target_ids=list(target_ids),
        list_ids=list(list_ids),
    )


async def count_unsent(tx: Tx, run_id: UUID) -> Unsent:
    return await tx.one(Unsent, Q["count_unsent"], run_id=run_id) or Unsent(0, 0)


async def list_queued(tx: Tx, account_id: UUID, *, run_id: UUID | None = None) -> list[Queued]:
    """Return what the runs of an account have still to send, without one of them."""
    rows = await tx.all(_QueuedRow, Q["list_queued"], account_id=account_id, run_id=run_id)
    return [
        Queued(row.messages, Window(row.window_start, row.window_end, row.zone), row.at_close)
        for row in rows
        if row.messages
    ]


async def list_able_accounts(
    tx: Tx,
    account_id: UUID,
    *,
    target_ids: Sequence[UUID] = (),
    list_ids: Sequence[UUID] = (),
    run_id: UUID | None = None,
) -> list[AbleAccount]:
    """Return other accounts that can write to groups of a plan or to those that a run has left."""
    return await tx.all(
        AbleAccount,
        Q["list_able_accounts"],
        account_id=account_id,
        target_ids=list(target_ids),
        list_ids=list(list_ids),
        run_id=run_id,
    )


async def count_busy_accounts(tx: Tx, account_id: UUID, *, now: datetime) -> int:
    """Return how many other accounts have something to send now."""
    return await tx.value(Q["count_busy_accounts"], account_id=account_id, now=now)
