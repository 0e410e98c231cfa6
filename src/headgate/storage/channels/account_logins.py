"""Logins under way: who takes the next step, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class LoginRow:
    """A login; its answers and state are sealed elsewhere."""

    id: UUID
    platform: str
    name: str
    established: bool
    account_id: UUID | None
    signed_in: bool
    ask_at: datetime
    expires_at: datetime


async def insert_login(tx: Tx, login: LoginRow, *, now: datetime) -> None:
    await tx.execute(
        Q["insert_login"],
        id=login.id,
        platform=login.platform,
        name=login.name,
        established=login.established,
        account_id=login.account_id,
        expires_at=login.expires_at,
        now=now,
    )


async def get_login(tx: Tx, login_id: UUID, *, now: datetime) -> LoginRow | None:
    return await tx.one(LoginRow, Q["get_login"], id=login_id, now=now)


async def claim_login(
    tx: Tx, login_id: UUID, *, claim: UUID, poll: bool, until: datetime, now: datetime
) -> LoginRow | None:
    """Return a login whose next step is the caller's to take; None if it is not."""
    return await tx.one(LoginRow, Q["claim_login"], id=login_id, claim=claim, poll=poll, until=until, now=now)


async def end_step(
    tx: Tx, login_id: UUID, *, claim: UUID, ask_at: datetime, expires_at: datetime, now: datetime
) -> bool:
    """Give the claim back; False if it was lost."""
    ended = await tx.execute(
        Q["end_step"], id=login_id, claim=claim, ask_at=ask_at, expires_at=expires_at, now=now
    )
    return ended == 1


async def end_login(tx: Tx, login_id: UUID, *, claim: UUID, account_id: UUID) -> bool:
    """Note which account has signed in; False if the claim was lost."""
    return await tx.execute(Q["end_login"], id=login_id, claim=claim, account_id=account_id) == 1


async def delete_login(tx: Tx, login_id: UUID) -> None:
    await tx.execute(Q["delete_login"], id=login_id)


async def delete_expired_logins(tx: Tx, *, now: datetime) -> int:
    """Delete logins that nobody finished; returns how many sealed values went with them."""
    return await tx.execute(Q["delete_expired_logins"], now=now)
