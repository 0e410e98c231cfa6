"""What is yet to be indexed: items and groups that changed, and the rest of a rebuild of the index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

ROW_LENGTH = 200
"""Ids that a row names at most."""


@dataclass(frozen=True)
class DueRow:
    """Items and groups that one transaction changed."""

    id: int
    ids: list[UUID]


@dataclass(frozen=True)
class Reindex:
    """How far a rebuild has come."""

    reindex_after: UUID | None
    """The last id that is done; None when no rebuild is under way."""
    reindexed: int


async def note_due(tx: Tx, item_ids: Collection[UUID], group_ids: Collection[UUID]) -> None:
    """Have the documents of items and groups written again; those that are gone or hidden lose theirs."""
    ids = {*item_ids, *group_ids}
    if ids:
        await tx.execute(Q["note_due"], ids=sorted(ids), row_length=ROW_LENGTH)


async def note_messages(tx: Tx, channel_id: UUID, message_keys: Collection[str]) -> None:
    """The same for the items of messages whose text changed."""
    if message_keys:
        keys = sorted(message_keys)
        await tx.execute(Q["note_messages"], channel_id=channel_id, message_keys=keys, row_length=ROW_LENGTH)


async def list_due(tx: Tx, *, rested_since: datetime) -> list[str]:
    return await tx.column(Q["list_due"], rested_since=rested_since)


async def peek_due(tx: Tx, *, limit: int) -> list[DueRow]:
    """Return the oldest rows that name about `limit` documents; nothing is taken."""
    return await tx.all(DueRow, Q["peek_due"], limit=limit)


async def take_due(tx: Tx, row_ids: Sequence[int]) -> int:
    """Remove rows that are done; returns how many were still there."""
    return await tx.execute(Q["take_due"], row_ids=list(row_ids))


async def has_due(tx: Tx) -> bool:
    return await tx.value(Q["has_due"])


async def lock_index(tx: Tx) -> None:
    await tx.one(Reindex, Q["lock_index"])


async def get_reindex(tx: Tx) -> Reindex:
    return await tx.one(Reindex, Q["get_reindex"]) or Reindex(None, 0)


async def start_reindex(tx: Tx, *, restart: bool) -> bool:
    """Begin a rebuild; False if one was under way and goes on."""
    return await tx.execute(Q["start_reindex"], restart=restart) > 0


async def advance_reindex(tx: Tx, *, seen: UUID, after: UUID | None, added: int) -> bool:
    """Note how far a rebuild has come; False if another moved it."""
    return await tx.execute(Q["advance_reindex"], seen=seen, after=after, added=added) > 0


async def list_next_ids(tx: Tx, *, after: UUID, limit: int) -> list[UUID]:
    return await tx.column(Q["list_next_ids"], after=after, limit=limit)


async def count_sources(tx: Tx) -> int:
    return await tx.value(Q["count_sources"])


async def list_waiting(tx: Tx, ids: Sequence[UUID]) -> list[UUID]:
    """Return those of the items and groups that are due."""
    return await tx.column(Q["list_waiting"], ids=list(ids))
