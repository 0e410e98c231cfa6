"""Makes items of what was seen: one for each content, however often it was posted."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.items import POST_TYPE, content_key, item_kind, item_title, item_type
from headgate.domain.library.archive_sets.volumes import read_volume_name
from headgate.domain.library.name_keys import name_key
from headgate.kernel.ids import Ids
from headgate.storage.catalogue import sightings
from headgate.storage.catalogue.sets import StoredVolume
from headgate.storage.catalogue.sightings import NewItem, NewSighting, WaitingSighting
from headgate.storage.database import Tx

Seen = NewSighting | WaitingSighting | StoredVolume
"""What an item is made of: a sighting that is about to be stored, one that waits, or one beside volumes."""


@dataclass(frozen=True)
class Made:
    """The items of some things that were seen."""

    item_ids: tuple[UUID, ...] = ()
    """Of each thing, in their order."""
    new_items: int = 0
    known_ids: tuple[UUID, ...] = ()
    """Items that were there before; so far nothing of them may have been kept."""
    news: int = 0
    """New items that somebody wants to hear of."""

    def __add__(self, other: Made) -> Made:
        return Made(
            self.item_ids + other.item_ids,
            self.new_items + other.new_items,
            self.known_ids + other.known_ids,
            self.news + other.news,
        )


async def make_items(
    tx: Tx,
    channel_id: UUID,
    seen: Sequence[Seen],
    *,
    silent_keys: Container[str] = (),
    in_albums: bool = True,
    ids: Ids,
    now: datetime,
) -> Made:
    """Make the items that are not there yet, and note which of them are news.

    Messages in `silent_keys` notify no one. A caller that makes items in several steps of one transaction
    follows the order of `key_of`, as each step does, so that no two transactions wait for each other.
    """
    if not seen:
        return Made()
    keys = [key_of(each) for each in seen]
    firsts = dict(zip(reversed(keys), reversed(seen), strict=True))
    items = {key: _item(key, firsts[key], ids) for key in dict.fromkeys(keys)}
    quiet = [item.id for key, item in items.items() if firsts[key].message_key in silent_keys]
    later = [item.id for key, item in items.items() if _may_be_volume(firsts[key])]
    new_items, news = await sightings.insert_items(
        tx,
        channel_id,
        list(items.values()),
        silent_ids=quiet,
        later_ids=later,
        in_albums=in_albums,
        now=now,
    )
    found = {key: item.id for key, item in items.items()}
    if new_items < len(items):
        found = await sightings.find_items(tx, channel_id, list(items))
    known_ids = tuple(found[key] for key, item in items.items() if found[key] != item.id)
    return Made(tuple(found[key] for key in keys), new_items, known_ids, news)


def key_of(seen: Seen) -> str:
    """Return by what the item of a thing is known."""
    return content_key(
        message_key=seen.message_key, attachment_key=seen.attachment_key, content_id=seen.content_id
    )


def _may_be_volume(seen: Seen) -> bool:
    name = None if seen.url else read_volume_name(seen.file_name)
    return name is not None and name.ambiguous


def _item(key: str, seen: Seen, ids: Ids) -> NewItem:
    title = item_title(seen.file_name, mime_type=seen.mime_type, url=seen.url)
    return NewItem(
        id=ids.new(),
        content_key=key,
        kind=item_kind(file_name=seen.file_name, mime_type=seen.mime_type, url=seen.url),
        type="" if seen.mime_type == POST_TYPE else item_type(file_name=seen.file_name, url=seen.url),
        title=title,
        name_key=name_key(title),
        size_bytes=seen.size_bytes,
        sent_at=seen.sent_at,
    )
