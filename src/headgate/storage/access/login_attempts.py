"""Failed sign-ins, counted by user, address and known browser."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

FORGET_AFTER = timedelta(days=1)
"""Real time after which an attempt counts no longer."""


@dataclass(frozen=True)
class Patience:
    """How failures are answered with waits."""

    free_failures: int
    longest_s: float
    forget_before: datetime


async def count_attempt(tx: Tx, key: str, patience: Patience, *, now: datetime) -> bool:
    """Count an attempt under a key; False if the key is blocked."""
    return await tx.value(Q["count_attempt"], key=key, now=now, **vars(patience)) is not None


async def blocked_until(tx: Tx, key: str) -> datetime | None:
    return await tx.value(Q["blocked_until"], key=key)


async def forget_attempts(tx: Tx, key: str) -> None:
    await tx.execute(Q["forget_attempts"], key=key)


async def take_back_attempt(tx: Tx, key: str) -> None:
    await tx.execute(Q["take_back_attempt"], key=key)


async def delete_old_attempts(tx: Tx, *, forget_before: datetime) -> int:
    return await tx.execute(Q["delete_old_attempts"], forget_before=forget_before)
