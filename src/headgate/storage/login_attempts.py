"""Failed sign-ins, counted by name and by address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries("login_attempts")

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


async def forgive(tx: Tx, *, name_key: str, address_key: str) -> None:
    """Note that the attempt was a right one."""
    await tx.execute(Q["forgive_name"], key=name_key)
    await tx.execute(Q["take_back_attempt"], key=address_key)


async def delete_old_attempts(tx: Tx, *, forget_before: datetime) -> int:
    return await tx.execute(Q["delete_old_attempts"], forget_before=forget_before)
