"""Sightings, the messages that hold them, and the items that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.domain.library.archive_sets.completeness import AMBIGUOUS_NEWS_AFTER
from headgate.domain.library.name_keys import name_key
from headgate.storage.arrays import columns
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import touch_items, touch_new

Q = load_queries(__name__)


class NewMessage(NamedTuple):
    """A message that holds a file or a link: what was said with it."""

    key: str
    position: int
    topic: str
    album: str
    author_key: str
    author: str
    from_bot: bool
    from_webhook: bool
    text: str
    reply_to: str
    sent_at: datetime
    version_at: datetime
    """When the message got the form in which it was seen."""


class NewSighting(NamedTuple):
    """One attachment seen in one message, with its verdict: kept, or why not."""

    id: UUID
    message_key: str
    attachment_key: str
    position: int
    topic: str
    url: str
    file_name: str
    size_bytes: int
    mime_type: str
    content_id: str
    sent_at: datetime
    version_at: datetime
    """When the message got the form in which it was seen."""
    verdict: str
    settings_hash: str
    mark: int | None = None
    """Of a post: all that its feed said of it, as a number."""
    volume_key: str = ""
    """Of a file that may be a volume: what all volumes of its set share."""
    author_key: str = ""
    assembled: bool = False
    """Its verdict and item are decided with all volumes of its name."""


class WaitingSighting(NamedTuple):
    """A kept sighting that is no item yet."""

    id: UUID
    channel_id: UUID
    message_key: str
    attachment_key: str
    url: str
    file_name: str
    size_bytes: int
    mime_type: str
    content_id: str
    sent_at: datetime


class KnownSighting(NamedTuple):
    """What is known of an attachment that was seen before."""

    id: UUID
    message_key: str
    attachment_key: str
    position: int
    version_at: datetime
    content_id: str
    verdict: str
    settings_hash: str
    item_id: UUID | None
    volume_key: str
    author_key: str
    assembled: bool
    deleted: bool


class NewItem(NamedTuple):
    """An item that a sighting asks for."""

    id: UUID
    content_key: str
    kind: str
    type: str
    title: str
    name_key: str
    size_bytes: int
    sent_at: datetime


class NewItems(NamedTuple):
    """How many items are new, and how many of them somebody wants to hear of."""

    new_items: int
    news: int


class _Found(NamedTuple):
    content_key: str
    id: UUID


class _Renamed(NamedTuple):
    id: UUID
    title: str


async def list_known(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> list[KnownSighting]:
    """Return what was seen in messages before."""
    if not message_keys:
        return []
    return await tx.all(
        KnownSighting, Q["list_known"], channel_id=channel_id, message_keys=list(message_keys)
    )


async def upsert_sightings(
    tx: Tx,
    channel_id: UUID,
    sightings: Sequence[NewSighting],
    *,
    messages: Sequence[NewMessage],
    item_ids: Sequence[UUID | None],
    now: datetime,
    seen_at: datetime,
) -> int:
    """Store what was seen, and keep the stream's count of messages; returns how many are new and kept.

    `messages` are those that hold it. Each sighting is given its item, if that is made already. The caller
    holds the stream's lock: what others change meanwhile would be counted wrongly.
    """
    if not sightings:
        return 0
    return await tx.value(
        Q["upsert_sightings"],
        channel_id=channel_id,
        now=now,
        seen_at=seen_at,
        item_id=list(item_ids),
        **columns(NewSighting._fields, sightings),
        **columns([f"said_{name}" for name in NewMessage._fields], messages),
    )


async def count_kept_messages(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> int:
    """Return how many of the messages hold something kept."""
    if not message_keys:
        return 0
    return await tx.value(Q["count_kept_messages"], channel_id=channel_id, message_keys=list(message_keys))


async def shift_message_count(tx: Tx, channel_id: UUID, *, by: int) -> None:
    """Let the stream's count of such messages follow."""
    if by:
        await tx.execute(Q["shift_message_count"], channel_id=channel_id, by=by)


async def mark_deleted(tx: Tx, channel_id: UUID, message_keys: Sequence[str], *, now: datetime) -> int:
    return await tx.value(Q["mark_deleted"], channel_id=channel_id, message_keys=list(message_keys), now=now)


async def rename_posts(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> int:
    """Let the items of posts follow their titles; returns how many did."""
    renamed = dict(
        await tx.all(_Renamed, Q["rename_posts"], channel_id=channel_id, message_keys=list(message_keys))
    )
    if renamed:
        keys = [name_key(title) for title in renamed.values()]
        await tx.execute(Q["write_name_keys"], ids=list(renamed), name_keys=keys)
        touch_items(tx, renamed)
    return len(renamed)


async def list_waiting_channels(tx: Tx, *, limit: int, rested_since: datetime) -> list[str]:
    return await tx.column(Q["list_waiting_channels"], limit=limit, rested_since=rested_since)


async def take_waiting(tx: Tx, channel_id: UUID, *, limit: int) -> list[WaitingSighting]:
    return await tx.all(WaitingSighting, Q["take_waiting"], channel_id=channel_id, limit=limit)


async def insert_items(
    tx: Tx,
    channel_id: UUID,
    items: Sequence[NewItem],
    *,
    silent_ids: Sequence[UUID] = (),
    later_ids: Sequence[UUID] = (),
    in_albums: bool = True,
    now: datetime,
) -> NewItems:
    """Make the items that are not there; if some are news, wake `NOTIFY` for the channel.

    Those in `silent_ids` notify no one, those in `later_ids` only after a while. Without `in_albums`, none of
    them was posted in an album.
    """
    touch = touch_items if in_albums else touch_new
    touch(tx, [item.id for item in items])
    made = await tx.one(
        NewItems,
        Q["insert_items"],
        channel_id=channel_id,
        silent_ids=list(silent_ids),
        later_ids=list(later_ids),
        later=now + AMBIGUOUS_NEWS_AFTER,
        now=now,
        **columns(NewItem._fields, items),
    )
    if made is None:
        raise RuntimeError("a count returned no row")
    return made


async def find_items(tx: Tx, channel_id: UUID, content_keys: Sequence[str]) -> dict[str, UUID]:
    """Return the items that are known by the keys of their contents."""
    found = await tx.all(_Found, Q["find_items"], channel_id=channel_id, content_keys=list(content_keys))
    return dict(found)


async def link_items(tx: Tx, *, sighting_ids: Sequence[UUID], item_ids: Sequence[UUID]) -> None:
    """Give each sighting its item."""
    await tx.execute(Q["link_items"], sighting_ids=list(sighting_ids), item_ids=list(item_ids))
    touch_items(tx, item_ids)
