"""Making runs: the run, its messages, its deliveries and their parts, in a few statements for the set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.channels.channels import AccountState
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.reminders.reminders import AtClose

Q = load_queries(__name__)

Trigger = Literal["schedule", "person", "test", "remainder", "library"]


@dataclass(frozen=True)
class SendingAccount:
    """Who is to send."""

    id: UUID
    name: str
    platform: str
    state: AccountState


@dataclass(frozen=True)
class NewRun:
    """A run that waits, or that is recorded as missed."""

    id: UUID
    reminder_id: UUID | None
    account_id: UUID | None
    account_name: str
    trigger: Trigger
    title: str
    fire_at: datetime
    zone: str
    window_start: int
    window_end: int
    at_close: AtClose
    opens_at: datetime
    closes_at: datetime | None
    due_at: datetime | None
    reason: str = ""
    state: Literal["waiting", "missed"] = "waiting"
    summary: str = ""
    priority: int = 0
    remainder_of: UUID | None = None
    ended_at: datetime | None = None


async def get_sending_account(tx: Tx, account_id: UUID) -> SendingAccount | None:
    return await tx.one(SendingAccount, Q["get_sending_account"], account_id=account_id)


async def insert_run(tx: Tx, run: NewRun, *, now: datetime) -> bool:
    """Store a run; false if its fire has one already."""
    return await tx.execute(Q["insert_run"], now=now, **vars(run)) == 1


async def fill_from_reminder(tx: Tx, run_id: UUID, reminder_id: UUID) -> int:
    """Give a run the messages and targets that a reminder has now; returns how many targets."""
    await tx.execute(Q["insert_reminder_parts"], run_id=run_id, reminder_id=reminder_id)
    total = await tx.value(Q["insert_reminder_deliveries"], run_id=run_id, reminder_id=reminder_id)
    await tx.execute(Q["insert_parts"], run_id=run_id)
    return total


async def insert_draft_parts(
    tx: Tx, run_id: UUID, *, texts: Sequence[str], media_ids: Sequence[UUID | None]
) -> None:
    """Give a run messages that no reminder has."""
    await tx.execute(Q["insert_draft_parts"], run_id=run_id, texts=list(texts), media_ids=list(media_ids))


async def insert_delivery(tx: Tx, run_id: UUID, target_id: UUID) -> bool:
    """Give a run with messages one target alone; false if the account's platform has no such target."""
    total = await tx.value(Q["insert_delivery"], run_id=run_id, target_id=target_id)
    await tx.execute(Q["insert_parts"], run_id=run_id)
    return total == 1


async def count_targets(tx: Tx, reminder_id: UUID) -> int:
    """Return to how many groups a reminder would go now."""
    return await tx.value(Q["count_targets"], reminder_id=reminder_id)


@dataclass(frozen=True)
class RunUnderWay:
    """A run of a reminder that has not ended."""

    id: UUID
    total: int
    sent: int


async def find_run_under_way(tx: Tx, reminder_id: UUID) -> RunUnderWay | None:
    return await tx.one(RunUnderWay, Q["find_run_under_way"], reminder_id=reminder_id)


async def join_run(tx: Tx, run_id: UUID) -> bool:
    """Count a fire with a run that is under way; false if that has just ended."""
    return await tx.execute(Q["join_run"], run_id=run_id) == 1
