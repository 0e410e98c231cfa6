"""What follows from damaged content: files that can be fetched again are, and pictures are made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.blobs.blobs import mark_damaged
from headgate.storage.database import Database
from headgate.storage.library.fetch_lines import line_up
from headgate.storage.library.inspections import note_inspection
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import queue_items

Q = load_queries(__name__)


@dataclass(frozen=True)
class _Wanted:
    sighting_id: UUID
    item_id: UUID | None


@dataclass(frozen=True)
class Condemned:
    """How many files are fetched again, and how many cannot be."""

    refetched: int
    lost: int


async def condemn_blobs(database: Database, blob_ids: Sequence[UUID], *, now: datetime) -> Condemned:
    """Give up damaged content; safe to repeat after a kill.

    Three transactions, because nobody may lock blobs and then files: the blobs are no longer known as whole,
    those who had seen them as whole are waited for, and then no file can be missed.
    """
    if not blob_ids:
        return Condemned(0, 0)
    async with database.transaction() as tx:
        await mark_damaged(tx, blob_ids, now=now)
    async with database.transaction() as tx:
        await tx.column(Q["wait_for_references"], ids=list(blob_ids))
    async with database.transaction() as tx:
        wanted = await tx.all(_Wanted, Q["want_again"], ids=list(blob_ids))
        pictured: list[UUID] = await tx.column(Q["forget_pictures"], ids=list(blob_ids))
        lost: list[UUID | None] = await tx.column(Q["list_lost"], ids=list(blob_ids))
        items = [file.item_id for file in wanted if file.item_id is not None]
        await note_inspection(tx, [*items, *pictured], now)
        await queue_items(tx, {*items, *pictured, *(item for item in lost if item is not None)})
        await line_up(tx, [file.sighting_id for file in wanted], now=now)
    return Condemned(len(wanted), len(lost))
