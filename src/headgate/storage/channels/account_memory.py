"""What connectors remember of accounts, beside their secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


class _Value(NamedTuple):
    name: str
    value: str


async def list_memory(tx: Tx, account_id: UUID) -> dict[str, str]:
    return dict(await tx.all(_Value, Q["list_memory"], account_id=account_id))


async def save_memory(tx: Tx, account_id: UUID, changes: Mapping[str, str]) -> None:
    """Remember values by name; an empty one is forgotten."""
    kept = {name: value for name, value in changes.items() if value}
    await tx.execute(
        Q["save_memory"],
        account_id=account_id,
        names=list(kept),
        values=list(kept.values()),
        forgotten=[name for name, value in changes.items() if not value],
    )


async def lock_sign_in(tx: Tx, account_id: UUID, *, sign_in: int) -> bool:
    """Keep an account from being signed in anew until the transaction ends; false if it was already."""
    return await tx.value(Q["lock_sign_in"], account_id=account_id, sign_in=sign_in)
