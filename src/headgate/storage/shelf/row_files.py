"""What is behind rows of the shelf: their items, the files of these, and what filters can be about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.domain.items import ItemKind
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class RowItem:
    """An item behind a row."""

    id: UUID
    title: str
    kind: ItemKind
    size_bytes: int
    channel_title: str
    has_picture: bool


@dataclass(frozen=True)
class EntryRow:
    """A file inside an archive."""

    item_id: UUID
    number: int
    name: str
    size_bytes: int | None
    found: int


@dataclass(frozen=True)
class VolumeRow:
    """A file that an item consists of."""

    item_id: UUID
    sighting_id: UUID
    name: str
    size_bytes: int
    is_stored: bool | None
    found: int


@dataclass(frozen=True)
class OfferedChannel:
    """A channel to choose."""

    id: UUID
    title: str


@dataclass(frozen=True)
class TopicChoice:
    """A topic of a channel to choose."""

    channel_id: UUID
    key: str
    title: str


@dataclass(frozen=True)
class _Home:
    id: UUID
    group_id: UUID


async def list_items(tx: Tx, row_id: UUID, *, pattern: str | None, skip: int, limit: int) -> list[RowItem]:
    """Return the items behind a row, or those of them that have a file whose name matches."""
    return await tx.all(RowItem, Q["list_items"], row_id=row_id, pattern=pattern, skip=skip, limit=limit)


async def list_entries(
    tx: Tx, item_ids: Sequence[UUID], *, pattern: str | None, limit: int
) -> list[EntryRow]:
    """Return files inside the archives of items, up to a number for each."""
    return await tx.all(EntryRow, Q["list_entries"], item_ids=list(item_ids), pattern=pattern, limit=limit)


async def list_volumes(
    tx: Tx, item_ids: Sequence[UUID], *, pattern: str | None, limit: int
) -> list[VolumeRow]:
    """Return the files that items consist of, up to a number for each."""
    return await tx.all(VolumeRow, Q["list_volumes"], item_ids=list(item_ids), pattern=pattern, limit=limit)


async def list_things(tx: Tx, ids: Sequence[UUID], *, limit: int) -> list[UUID]:
    """Return the items that ids of items and groups stand for."""
    return await tx.column(Q["list_things"], ids=list(ids), limit=limit)


async def list_homes(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Return the groups that items are in by now."""
    return {home.id: home.group_id for home in await tx.all(_Home, Q["list_homes"], ids=list(ids))}


async def list_channels(tx: Tx, *, limit: int) -> list[OfferedChannel]:
    return await tx.all(OfferedChannel, Q["list_channels"], limit=limit)


async def list_topics(tx: Tx, channel_ids: Sequence[UUID], *, limit: int) -> list[TopicChoice]:
    return await tx.all(TopicChoice, Q["list_topics"], channel_ids=list(channel_ids), limit=limit)
