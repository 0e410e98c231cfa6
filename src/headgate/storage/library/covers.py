"""Photos posted around an item, which may be its picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.library.covers import NearbyMessage, Photo
from headgate.domain.library.inspections import FileState
from headgate.storage.database import Tx
from headgate.storage.library.fetch_lines import line_up
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import queue_files

Q = load_queries(__name__)


@dataclass(frozen=True)
class StoredPhoto:
    """A photo of a message, and its content if that is stored."""

    sighting_id: UUID
    size_bytes: int
    state: FileState
    blob_id: UUID | None
    object_name: str


@dataclass(frozen=True)
class Surroundings:
    """The first message of an item, those around it, and all photos of them by the keys used there."""

    message: NearbyMessage | None
    nearby: tuple[NearbyMessage, ...]
    photos: dict[str, StoredPhoto]


NOTHING_NEARBY = Surroundings(None, (), {})


@dataclass(frozen=True)
class _Row:
    item_id: UUID
    is_own: bool
    key: str
    position: int
    sent_at: datetime
    author: str
    topic: str
    album: str
    reply_to: str
    photo_id: UUID | None
    photo_bytes: int
    blob_id: UUID | None
    state: FileState
    object_name: str


async def list_surroundings(tx: Tx, item_ids: Iterable[UUID]) -> dict[UUID, Surroundings]:
    """Return what was posted around items, for each that a message holds."""
    rows = await tx.all(_Row, Q["list_nearby_photos"], item_ids=list(item_ids))
    by_item: dict[UUID, list[_Row]] = {}
    for row in rows:
        by_item.setdefault(row.item_id, []).append(row)
    return {item_id: _gather(of_item) for item_id, of_item in by_item.items()}


async def list_covered_items(tx: Tx, sighting_ids: Sequence[UUID]) -> list[UUID]:
    """Return the items whose picture may change when the content of these photos is stored."""
    return await tx.column(Q["list_covered_items"], sighting_ids=list(sighting_ids))


async def want_covers(tx: Tx, sighting_ids: Sequence[UUID], *, now: datetime) -> None:
    """Make photos wanted that are to be pictures of items."""
    if sighting_ids and await tx.execute(Q["want_covers"], ids=list(sighting_ids), now=now):
        await queue_files(tx, sighting_ids)
        await line_up(tx, sighting_ids, now=now)


def _gather(rows: Sequence[_Row]) -> Surroundings:
    messages: dict[str, list[_Row]] = {}
    for row in rows:
        messages.setdefault(row.key, []).append(row)
    own = next((_message(each) for each in messages.values() if each[0].is_own), None)
    others = tuple(_message(each) for each in messages.values() if not each[0].is_own)
    photos = {
        str(row.photo_id): StoredPhoto(row.photo_id, row.photo_bytes, row.state, row.blob_id, row.object_name)
        for row in rows
        if row.photo_id is not None
    }
    return Surroundings(own, others, photos)


def _message(rows: Sequence[_Row]) -> NearbyMessage:
    first = rows[0]
    return NearbyMessage(
        key=first.key,
        position=first.position,
        sent_at=first.sent_at,
        author=first.author,
        topic=first.topic,
        album=first.album,
        reply_to=first.reply_to,
        photos=tuple(Photo(str(row.photo_id), row.photo_bytes) for row in rows if row.photo_id is not None),
    )
