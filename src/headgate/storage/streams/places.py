"""The places of messages in streams whose platform has no usable numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


class Gap(NamedTuple):
    """A range of unknown size, just below `end`."""

    channel_id: UUID
    end: int
    bookmark: str


class _Place(NamedTuple):
    key: str
    position: int


class _News(NamedTuple):
    channel_id: UUID
    head: int | None


async def list_places(tx: Tx, channel_id: UUID, keys: Collection[str]) -> dict[str, int]:
    """Return the positions of messages that have one, by key."""
    if not keys:
        return {}
    return dict(await tx.all(_Place, Q["list_places"], channel_id=channel_id, keys=list(keys)))


async def insert_places(tx: Tx, channel_id: UUID, places: Mapping[str, int]) -> None:
    if places:
        await tx.execute(
            Q["insert_places"], channel_id=channel_id, keys=list(places), positions=list(places.values())
        )


async def list_news(tx: Tx, keys: Mapping[UUID, str]) -> dict[UUID, int | None]:
    """Return the streams whose newest message, by its key, is news; each with its head so far."""
    told = list(keys)
    rows = await tx.all(_News, Q["list_news"], channel_ids=told, keys=[keys[each] for each in told])
    news = dict(rows)
    if news:
        await tx.execute(Q["note_head_keys"], channel_ids=list(news), keys=[keys[each] for each in news])
    return news


async def insert_gaps(tx: Tx, gaps: Sequence[Gap]) -> None:
    """Remember where reading back from the end of gaps begins."""
    if gaps:
        await tx.execute(
            Q["insert_bookmarks"],
            channel_ids=[gap.channel_id for gap in gaps],
            positions=[gap.end for gap in gaps],
            bookmarks=[gap.bookmark for gap in gaps],
        )
