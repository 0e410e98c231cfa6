"""What is yet to be labelled: messages and items that changed, and channels that are labelled all over.

Intake adds one row for each batch that it stores, in the statement that stores it (`upsert_sightings`).
Whoever gives sightings another item calls `note_unlabelled`; who changes a topic's title, `sweep_channel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

MAX_ALBUM = 100
"""Messages that were posted as one; platforms allow about ten."""


@dataclass(frozen=True)
class QueuedBatch:
    """Messages and items that were stored or changed together."""

    channel_id: UUID
    id: int
    message_keys: list[str]
    item_ids: list[UUID]


@dataclass(frozen=True)
class Sweep:
    """How far the labelling of a whole channel has come."""

    channel_id: UUID
    after: str
    wake_seq: int


class SweptItem(NamedTuple):
    """An item and its place in a sweep."""

    id: UUID
    content_key: str


async def list_unlabelled(tx: Tx, *, limit: int, rested_since: datetime) -> list[str]:
    return await tx.column(Q["list_unlabelled"], limit=limit, rested_since=rested_since)


async def note_unlabelled(
    tx: Tx, channel_id: UUID, *, message_keys: Sequence[str] = (), item_ids: Sequence[UUID] = ()
) -> None:
    """Have the items of messages, and items, labelled again."""
    await tx.execute(
        Q["note_unlabelled"],
        channel_id=channel_id,
        message_keys=list(message_keys),
        item_ids=list(item_ids),
    )


async def sweep_channel(tx: Tx, channel_id: UUID) -> None:
    """Have all items of a channel labelled again."""
    await tx.execute(Q["sweep_channel"], channel_id=channel_id)


async def peek_queue(tx: Tx, channel_ids: Sequence[UUID], *, limit: int) -> list[QueuedBatch]:
    """Return the oldest batches of each channel, about `limit` messages and items; nothing is taken."""
    return await tx.all(QueuedBatch, Q["peek_queue"], channel_ids=list(channel_ids), limit=limit)


async def find_items(tx: Tx, batches: Sequence[QueuedBatch]) -> list[UUID]:
    """Return the items that batches are about."""
    return await tx.column(
        Q["find_items"],
        channel_ids=[batch.channel_id for batch in batches for _ in batch.message_keys],
        message_keys=[key for batch in batches for key in batch.message_keys],
        item_ids=[item_id for batch in batches for item_id in batch.item_ids],
        max_album=MAX_ALBUM,
    )


async def list_sweeps(tx: Tx, channel_ids: Sequence[UUID]) -> list[Sweep]:
    return await tx.all(Sweep, Q["list_sweeps"], channel_ids=list(channel_ids))


async def list_swept(tx: Tx, sweep: Sweep, *, limit: int) -> list[SweptItem]:
    """Return the next items of a sweep."""
    return await tx.all(
        SweptItem, Q["list_swept"], channel_id=sweep.channel_id, after=sweep.after, limit=limit
    )


async def empty_queue(tx: Tx, batches: Sequence[QueuedBatch]) -> None:
    await tx.execute(
        Q["empty_queue"],
        channel_ids=[batch.channel_id for batch in batches],
        ids=[batch.id for batch in batches],
    )


async def advance_sweep(tx: Tx, sweep: Sweep, *, after: str) -> None:
    await tx.execute(Q["advance_sweep"], channel_id=sweep.channel_id, after=after, seen=sweep.wake_seq)


async def end_sweep(tx: Tx, sweep: Sweep) -> None:
    await tx.execute(Q["end_sweep"], channel_id=sweep.channel_id, seen=sweep.wake_seq)


async def list_more(tx: Tx, channel_ids: Sequence[UUID]) -> list[UUID]:
    """Return those of the channels that have more to label."""
    return await tx.column(Q["list_more"], channel_ids=list(channel_ids))
