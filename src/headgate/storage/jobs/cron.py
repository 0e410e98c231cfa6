"""Recurring work: a row a schedule, with its due time in product time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class CronRow:
    """A schedule, and which wake-ups it has had."""

    schedule: str
    wake_seq: int


async def upsert_cron(tx: Tx, *, kind: str, key: str, schedule: str, due_at: datetime) -> None:
    await tx.execute(Q["upsert_cron"], kind=kind, key=key, schedule=schedule, due_at=due_at)


async def list_due_cron(tx: Tx, *, kind: str, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_cron"], kind=kind, now=now, limit=limit)


async def get_cron(tx: Tx, *, kind: str, key: str) -> CronRow | None:
    return await tx.one(CronRow, Q["get_cron"], kind=kind, key=key)


async def end_cron(tx: Tx, *, kind: str, key: str, seen: int, next_at: datetime, now: datetime) -> None:
    await tx.execute(Q["end_cron"], kind=kind, key=key, seen=seen, next=next_at, now=now)


async def wake_cron(tx: Tx, *, kind: str, key: str, now: datetime) -> None:
    await tx.execute(Q["wake_cron"], kind=kind, key=key, now=now)


async def set_cron_due(tx: Tx, *, kind: str, key: str, due_at: datetime) -> None:
    await tx.execute(Q["set_cron_due"], kind=kind, key=key, due_at=due_at)
