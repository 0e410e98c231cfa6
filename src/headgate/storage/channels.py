"""Accounts, channels, and who reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries("channels")

AccountState = Literal["active", "needs_login", "restricted", "banned"]


@dataclass(frozen=True)
class Account:
    """One login on a platform."""

    id: UUID
    platform: str
    name: str
    state: AccountState
    state_reason: str
    established: bool


@dataclass(frozen=True)
class _KeyAndId:
    key: str
    id: UUID


async def upsert_account(
    tx: Tx, account_id: UUID, *, platform: str, name: str, established: bool, now: datetime
) -> UUID:
    """Return the id of an account, which is made if it is not there."""
    return await tx.value(
        Q["upsert_account"], id=account_id, platform=platform, name=name, established=established, now=now
    )


async def list_accounts(tx: Tx) -> list[Account]:
    return await tx.all(Account, Q["list_accounts"])


async def set_account_state(tx: Tx, account_id: UUID, *, state: AccountState, reason: str) -> bool:
    """Change the state; false if it was so before."""
    return await tx.execute(Q["set_account_state"], id=account_id, state=state, reason=reason) == 1


async def follow_streams(
    tx: Tx,
    *,
    account_id: UUID,
    platform: str,
    scope: str,
    ids: Sequence[UUID],
    keys: Sequence[str],
    titles: Sequence[str],
    now: datetime,
) -> int:
    """Begin to follow streams; returns how many are new."""
    return await tx.execute(
        Q["follow_streams"],
        account_id=account_id,
        platform=platform,
        scope=scope,
        ids=list(ids),
        keys=list(keys),
        titles=list(titles),
        now=now,
    )


async def streams_of_account(tx: Tx, account_id: UUID) -> dict[str, UUID]:
    rows = await tx.all(_KeyAndId, Q["streams_of_account"], account_id=account_id)
    return {row.key: row.id for row in rows}
