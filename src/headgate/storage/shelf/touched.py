"""What a transaction changed of what the library shows; its rows are written once, right before the commit.

Code that creates, shows, hides, names, groups or removes an item calls `touch_items`. What machines change of
things that are there already (downloads, pictures, labels by rules) is queued for a job instead, so that
nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.shelf.refresh import Album, add_rows, refresh

Q = load_queries(__name__)

LARGE_BATCH = 200
"""Items that are written together, where there are many."""


@dataclass(frozen=True)
class _Company:
    """What an item belongs to: a group, or those with the same content."""

    group_id: UUID | None
    content_hash: bytes | None


@dataclass
class Touched:
    """Items, groups and albums whose rows are to be written at the end of a transaction."""

    items: set[UUID] = field(default_factory=set[UUID])
    new_items: set[UUID] = field(default_factory=set[UUID])
    groups: set[UUID] = field(default_factory=set[UUID])
    albums: set[Album] = field(default_factory=set[Album])
    contents: set[bytes] = field(default_factory=set[bytes])

    async def finish(self, tx: Tx) -> None:
        new_items = self.new_items - self.items
        if self.items or self.groups or self.albums or self.contents:
            await refresh(tx, self.items, groups=self.groups, albums=self.albums, contents=self.contents)
        if new_items:
            await add_rows(tx, new_items)


def touch_items(tx: Tx, item_ids: Iterable[UUID]) -> None:
    """Have the rows of items written before the commit."""
    tx.ending(Touched).items.update(item_ids)


def touch_new(tx: Tx, item_ids: Iterable[UUID]) -> None:
    """The same for items that this transaction makes, in no album: nobody else can see them yet."""
    tx.ending(Touched).new_items.update(item_ids)


def touch_groups(tx: Tx, group_ids: Iterable[UUID]) -> None:
    tx.ending(Touched).groups.update(group_ids)


async def touch_leaving(tx: Tx, item_ids: Collection[UUID]) -> None:
    """The same for items that are about to be deleted: their groups and copies stay."""
    touch_items(tx, item_ids)
    _touch_others(tx, await tx.all(_Company, Q["list_company"], item_ids=list(item_ids)))


async def clear_channels(tx: Tx, channel_ids: Collection[UUID]) -> None:
    """Take the items of channels that are about to be deleted off the shelf; copies elsewhere stay."""
    _touch_others(tx, await tx.all(_Company, Q["list_company_elsewhere"], channel_ids=list(channel_ids)))
    await tx.execute(Q["clear_channels"], channel_ids=list(channel_ids))


def _touch_others(tx: Tx, company: Iterable[_Company]) -> None:
    for one in company:
        if one.group_id is not None:
            touch_groups(tx, [one.group_id])
        if one.content_hash is not None:
            tx.ending(Touched).contents.add(one.content_hash)


def touch_albums(tx: Tx, albums: Iterable[Album]) -> None:
    """Have albums named anew: what was said with them may have changed."""
    tx.ending(Touched).albums.update(albums)


async def queue_items(tx: Tx, item_ids: Collection[UUID]) -> None:
    """Have the rows of items written by a job, soon after the commit."""
    if item_ids:
        await tx.execute(Q["queue_items"], item_ids=sorted(set(item_ids)))


async def queue_files(tx: Tx, sighting_ids: Collection[UUID]) -> None:
    """The same for the items of files, by the ids of their sightings."""
    if sighting_ids:
        await tx.execute(Q["queue_files"], sighting_ids=list(sighting_ids))


async def queue_messages(tx: Tx, channel_id: UUID, message_keys: Collection[str]) -> None:
    """The same for the items of messages."""
    if message_keys:
        await tx.execute(Q["queue_messages"], channel_id=channel_id, message_keys=list(message_keys))


async def queue_channel(tx: Tx, channel_id: UUID) -> None:
    """The same for all items of a channel."""
    await tx.execute(Q["queue_channel"], channel_id=channel_id, batch=LARGE_BATCH)


async def queue_label(tx: Tx, kind: str, keys: Collection[str]) -> None:
    """The same for all items that have a label by one of these keys."""
    await tx.execute(Q["queue_label"], kind=kind, keys=list(keys), batch=LARGE_BATCH)
