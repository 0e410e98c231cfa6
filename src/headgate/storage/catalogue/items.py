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
class KnownItem(Item):
    """An item, whether it is shown or not."""

    hidden: bool
    """The settings of its channel keep nothing of it any more."""


@dataclass(frozen=True)
class ItemTitle:
    """An item as far as it is named."""

    id: UUID
    title: str


@dataclass(frozen=True)
class ItemPlace:
    """One place where an item was seen, and what was said there."""

    channel_id: UUID
    message_key: str
    topic: str
    topic_title: str
    author: str
    text: str
    file_name: str
    size_bytes: int
    mime_type: str
    url: str
    sent_at: datetime
    seen_at: datetime
    deleted_at: datetime | None
    """When the message was found deleted on the platform."""
    verdict: str


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


async def get_item(tx: Tx, item_id: UUID) -> KnownItem | None:
    return await tx.one(KnownItem, Q["get_item"], id=item_id)


async def find_items(tx: Tx, *, pattern: str | None, limit: int) -> list[ItemTitle]:
    """Return items by words of their titles, the newest first."""
    return await tx.all(ItemTitle, Q["find_items"], pattern=pattern, limit=limit)


async def list_places(tx: Tx, item_id: UUID, *, limit: int) -> list[ItemPlace]:
    """Return where an item was seen, the first time first."""
    return await tx.all(ItemPlace, Q["list_places"], item_id=item_id, limit=limit)


async def count_library(tx: Tx, *, cap: int) -> LibraryCounts:
    counts = await tx.one(LibraryCounts, Q["count_library"], cap=cap)
    if counts is None:
        raise RuntimeError("a count returned no row")
    return counts
