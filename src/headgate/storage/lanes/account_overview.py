"""Accounts as people see them: what they are good for, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.channels.channels import AccountState
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class AccountLine:
    """One account."""

    id: UUID
    platform: str
    name: str
    state: AccountState
    state_reason: str
    established: bool
    listening: bool
    held_by: str
    """The process that alone may use it; empty if none does, or all may."""
    awaiting_holder: int
    """Jobs that wait for that process."""
    created_at: datetime
    discovered_at: datetime | None
    discover_at: datetime | None
    discover_error: str
    reads: int
    stands_by: int


async def list_account_lines(tx: Tx) -> list[AccountLine]:
    return await tx.all(AccountLine, Q["list_account_lines"])
