"""Accounts, channels, and who reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

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
    sign_in: int = 0


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


async def set_established(tx: Tx, account_id: UUID, *, established: bool) -> None:
    await tx.execute(Q["set_established"], id=account_id, established=established)


async def set_account_state(tx: Tx, account_id: UUID, *, state: AccountState, reason: str) -> bool:
    """Change the state; false if it was so before."""
    return await tx.execute(Q["set_account_state"], id=account_id, state=state, reason=reason) == 1


async def suspend_account(
    tx: Tx, account_id: UUID, *, sign_in: int, state: AccountState, reason: str
) -> bool:
    """Note that an account cannot work any more; false if it is known, or it was signed in again since."""
    changed = await tx.execute(
        Q["suspend_account"], id=account_id, sign_in=sign_in, state=state, reason=reason
    )
    return changed == 1


async def insert_account(tx: Tx, account: Account, *, now: datetime) -> bool:
    """Add an account; false if there is one of this name already."""
    return (
        await tx.execute(
            Q["insert_account"],
            id=account.id,
            platform=account.platform,
            name=account.name,
            state=account.state,
            reason=account.state_reason,
            established=account.established,
            now=now,
        )
        == 1
    )


async def delete_account(tx: Tx, account_id: UUID) -> bool:
    return await tx.execute(Q["delete_account"], id=account_id) == 1


async def find_streams(tx: Tx, account_id: UUID, keys: Sequence[str]) -> dict[str, UUID]:
    """Return those of the streams that an account reads."""
    rows = await tx.all(_KeyAndId, Q["find_streams"], account_id=account_id, keys=list(keys))
    return {row.key: row.id for row in rows}
