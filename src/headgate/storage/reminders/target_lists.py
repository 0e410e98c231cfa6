"""Targets that a person keeps together under a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class ListLine:
    """A list, with the number of its targets and of reminders that send to it."""

    id: UUID
    name: str
    created_at: datetime
    members: int
    reminders: int


@dataclass(frozen=True)
class LockedList:
    """A list, locked until the transaction ends."""

    id: UUID
    name: str


@dataclass(frozen=True)
class Member:
    """A target in a list, at its place."""

    place: int
    id: UUID
    platform: str
    key: str
    title: str


async def insert_list(tx: Tx, list_id: UUID, *, name: str, now: datetime) -> bool:
    """Add a list; false if there is one of this name already."""
    return await tx.execute(Q["insert_list"], id=list_id, name=name, now=now) == 1


async def lock_list(tx: Tx, list_id: UUID) -> LockedList | None:
    return await tx.one(LockedList, Q["lock_list"], id=list_id)


async def rename_list(tx: Tx, list_id: UUID, *, name: str) -> None:
    """Raise `Refused` if another list has the name."""
    async with tx.attempt():
        await tx.execute(Q["rename_list"], id=list_id, name=name)


async def delete_list(tx: Tx, list_id: UUID) -> None:
    await tx.execute(Q["delete_list"], id=list_id)


async def add_members(tx: Tx, list_id: UUID, target_ids: Sequence[UUID]) -> int:
    """Put targets behind those that are there; returns how many are new. The list must be locked."""
    return await tx.execute(Q["add_members"], list_id=list_id, target_ids=list(dict.fromkeys(target_ids)))


async def remove_members(tx: Tx, list_id: UUID, target_ids: Sequence[UUID]) -> int:
    return await tx.execute(Q["remove_members"], list_id=list_id, target_ids=list(target_ids))


async def list_lists(tx: Tx) -> list[ListLine]:
    return await tx.all(ListLine, Q["list_lists"])


async def list_members(tx: Tx, list_id: UUID, *, after: int = 0, limit: int) -> list[Member]:
    return await tx.all(Member, Q["list_members"], list_id=list_id, after=after, limit=limit)


async def list_users_of(tx: Tx, list_id: UUID) -> list[str]:
    """Return the titles of the reminders that send to a list."""
    return await tx.column(Q["list_users_of"], list_id=list_id)
