"""Reading the library: items in pages, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from headgate.domain.items import ItemKind
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Item:
    """An item of the library."""

    id: UUID
    kind: ItemKind
    title: str
    size_bytes: int
    sent_at: datetime
    caught_at: datetime
    channel_id: UUID
    channel_title: str
    url: str
    """Where a post or a link leads; empty for what is a file."""


@dataclass(frozen=True)
class LibraryCursor:
    """A place in the library's order."""

    caught_at: datetime
    id: UUID


@dataclass(frozen=True)
class LibraryCounts:
    """The library in figures; `items` stops at the cap."""

    items: int
    channels: int
    messages_scanned: int


NEWEST = LibraryCursor(datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))


async def list_older_items(tx: Tx, *, below: LibraryCursor, pattern: str | None, limit: int) -> list[Item]:
    """Return items below a place; a pattern is one of ILIKE."""
    return await tx.all(Item, Q["list_older_items"], pattern=pattern, limit=limit, **vars(below))


async def list_newest_items(tx: Tx, *, down_to: LibraryCursor, pattern: str | None, limit: int) -> list[Item]:
    """Return items from the newest down to a place, that place included."""
    return await tx.all(Item, Q["list_newest_items"], pattern=pattern, limit=limit, **vars(down_to))


async def count_library(tx: Tx, *, cap: int) -> LibraryCounts:
    counts = await tx.one(LibraryCounts, Q["count_library"], cap=cap)
    if counts is None:
        raise RuntimeError("a count returned no row")
    return counts
