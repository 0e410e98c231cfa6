"""Writes the rows of the shelf: the one place that does, whatever changed and whoever changed it.

Everybody takes locks in the same order: items by id, groups by id, contents. Then a statement of its own
computes rows from their members, so that it sees what others have committed until then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from headgate.domain.library.group_names import album_name
from headgate.domain.library.name_keys import name_key
from headgate.storage.arrays import columns
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.search.queue import ROW_LENGTH
from headgate.storage.shelf import rule_groups

Q = load_queries(__name__)

Album = tuple[UUID, str]
"""A channel, and what the platform calls the album."""

MAX_ALBUM = 1000
"""Messages of an album that are grouped."""
MAX_SEEN = 20
"""Messages of an item whose albums count; a favourite is posted again and again."""
LARGE_GROUP = 200
"""Members from which on a job writes a group's row, and not everyone who adds one."""


class _AlbumItem(NamedTuple):
    channel_id: UUID
    album: str
    dissolved: bool
    item_id: UUID | None


@dataclass(frozen=True)
class _LockedItem:
    id: UUID
    group_id: UUID | None
    content_hash: bytes | None
    hidden: bool
    caught_at: datetime
    has_content: bool
    """It was looked into, or its files are about to be."""

    @property
    def is_free(self) -> bool:
        """Whether it is shown, and in no group."""
        return not self.hidden and self.group_id is None


@dataclass(frozen=True)
class _AlbumGroup:
    id: UUID
    dissolved: bool


@dataclass(frozen=True)
class _Joined:
    id: UUID
    group_id: UUID


class _NewAlbum(NamedTuple):
    id: UUID
    channel_id: UUID
    album: str
    created_at: datetime


@dataclass(frozen=True)
class _Described:
    id: UUID
    caption: str
    first_title: str
    name: str


def album_group_id(album: Album) -> UUID:
    """Return the id of the only automatic group that an album can have."""
    channel_id, key = album
    return UUID(bytes=sha256(f"album:{channel_id}:{key}".encode()).digest()[:16])


async def refresh(
    tx: Tx,
    item_ids: Collection[UUID],
    *,
    groups: Collection[UUID] = (),
    albums: Collection[Album] = (),
    contents: Collection[bytes] = (),
) -> list[UUID]:
    """Put items into the groups of their albums and rules, and write all rows that they change.

    Returns these.
    """
    members, dissolved = await _list_albums(tx, item_ids, albums)
    others = {item for items in members.values() for item in items} - set(item_ids)
    locked = await _lock_items(tx, item_ids, others)
    known, joined = await _join_albums(tx, members, locked, dissolved)
    rules = await rule_groups.list_active(tx)
    own = [item for item in item_ids if item in locked]
    strayed = await rule_groups.leave_strayed(tx, rules, own)
    locked |= {item: replace(locked[item], group_id=None) for item in strayed.left}
    found = await rule_groups.find_groups(tx, rules, own)
    others |= found.item_ids - locked.keys()
    locked |= await _lock_items(tx, (), found.item_ids - locked.keys())
    free = {item.id: item.caught_at for item in locked.values() if item.is_free and item.id not in joined}
    by_rules, joined_rules = await rule_groups.join_found(tx, found.groups, free)
    dissolved |= {group.id for group in found.groups if group.is_dissolved}
    known |= by_rules
    joined |= joined_rules
    settled = await _settle_contents(tx, [locked[item] for item in item_ids if item in locked])
    group_ids = {item.group_id for item in locked.values() if item.group_id}
    left = set(strayed.left.values())
    group_ids |= known | set(joined.values()) | set(groups) | left
    restored = dissolved - await _lock_groups(tx, group_ids, locked)
    await rule_groups.leave_full(tx, joined_rules)
    await rule_groups.delete_empty(tx, left)
    large = await _list_large(tx, group_ids - set(groups))
    await _name_albums(tx, [album_group_id(album) for album in members])
    await rule_groups.name_chains(tx, found.groups)
    hashes = {item.content_hash for item in locked.values() if item.content_hash}
    hashes |= settled | set(contents)
    if hashes:
        await tx.value(Q["lock_contents"], hashes=sorted(hashes))
    # Whoever restored a group before this had its lock could not see these items: the job lets them join.
    late = (others - locked.keys()) | found.busy_items | strayed.busy_items
    late |= set(item_ids) if restored else set()
    await _queue_rows(tx, late, large)
    await _note_items(tx, {*item_ids, *locked}, groups=group_ids)
    return await tx.column(
        Q["write_rows"],
        item_ids=sorted({*item_ids, *locked}),
        group_ids=sorted(group_ids - large),
        hashes=sorted(hashes),
    )


async def add_rows(tx: Tx, item_ids: Collection[UUID]) -> None:
    """Write the rows of new items that are in no album; there is nothing to lock."""
    await _note_items(tx, item_ids, new=item_ids)
    await tx.execute(Q["add_rows"], item_ids=sorted(item_ids))


async def _list_albums(
    tx: Tx, item_ids: Collection[UUID], albums: Collection[Album]
) -> tuple[dict[Album, list[UUID]], set[UUID]]:
    """Return the items that could join the albums concerned, in the order in which they were posted.

    Also returns the groups of albums that people dissolved, which nothing joins.
    """
    rows = await tx.all(
        _AlbumItem,
        Q["list_album_items"],
        item_ids=sorted(item_ids),
        channel_ids=[channel_id for channel_id, _ in albums],
        albums=[album for _, album in albums],
        max_seen=MAX_SEEN,
        max_album=MAX_ALBUM,
    )
    members: dict[Album, list[UUID]] = {}
    for row in rows:
        joining = members.setdefault((row.channel_id, row.album), [])
        if row.item_id is not None:
            joining.append(row.item_id)
    return members, {album_group_id((row.channel_id, row.album)) for row in rows if row.dissolved}


async def _lock_items(
    tx: Tx, item_ids: Collection[UUID], others: Collection[UUID]
) -> dict[UUID, _LockedItem]:
    """Lock items, and those of the others that nobody else has locked."""
    found = await tx.all(_LockedItem, Q["lock_items"], ids=sorted(item_ids)) if item_ids else []
    if others:
        found += await tx.all(_LockedItem, Q["lock_others"], ids=sorted(others))
    return {item.id: item for item in found}


async def _join_albums(
    tx: Tx,
    members: Mapping[Album, Sequence[UUID]],
    locked: Mapping[UUID, _LockedItem],
    dissolved: set[UUID],
) -> tuple[set[UUID], dict[UUID, UUID]]:
    """Let items that are shown and in no group join those of their albums; an album of one needs none.

    Returns the groups that were there already, and the groups of those that joined. Adds to the dissolved.
    """
    if not members:
        return set(), {}
    free = {
        album: [item for item in items if item in locked and locked[item].is_free]
        for album, items in members.items()
    }
    ids = {album: album_group_id(album) for album in members}
    known = await tx.all(_AlbumGroup, Q["list_album_groups"], ids=sorted(ids.values()))
    known_ids = {group.id for group in known}
    dissolved.update(group.id for group in known if group.dissolved)
    new = [
        _NewAlbum(ids[album], *album, max(locked[item].caught_at for item in items))
        for album, items in free.items()
        if ids[album] not in known_ids and len(items) > 1
    ]
    if new:
        await tx.execute(Q["insert_album_groups"], **columns(_NewAlbum._fields, new))
    open_groups = (known_ids | {group.id for group in new}) - dissolved
    wanted = {
        item: ids[album]
        for album, items in reversed(free.items())
        if ids[album] in open_groups
        for item in items
    }
    if not wanted:
        return known_ids, {}
    joined = await tx.all(_Joined, Q["join_groups"], item_ids=list(wanted), group_ids=list(wanted.values()))
    return known_ids, {one.id: one.group_id for one in joined}


async def _settle_contents(tx: Tx, items: Iterable[_LockedItem]) -> set[bytes]:
    """Note what items consist of; returns the hashes that are new to them."""
    ids = sorted(item.id for item in items if item.has_content)
    settled: list[bytes | None] = await tx.column(Q["settle_contents"], ids=ids) if ids else []
    return {content_hash for content_hash in settled if content_hash}


async def _lock_groups(tx: Tx, group_ids: Collection[UUID], locked: Collection[UUID]) -> set[UUID]:
    """Lock groups, and return those that are dissolved; items that have just joined one leave it."""
    if not group_ids:
        return set()
    dissolved = await tx.column(Q["lock_groups"], ids=sorted(group_ids))
    if dissolved and locked:
        await tx.execute(Q["leave_groups"], item_ids=sorted(locked), group_ids=dissolved)
    return set(dissolved)


async def _list_large(tx: Tx, group_ids: Collection[UUID]) -> set[UUID]:
    """Return the groups that are too large to be written at once."""
    if not group_ids:
        return set()
    return set(await tx.column(Q["count_members"], ids=sorted(group_ids), limit=LARGE_GROUP))


async def _name_albums(tx: Tx, group_ids: Sequence[UUID]) -> None:
    """Let the names of albums follow what was said with them, unless a person named them."""
    if not group_ids:
        return
    described = await tx.all(_Described, Q["describe_albums"], ids=sorted(group_ids))
    names = {
        group.id: name
        for group in described
        if (name := album_name(caption=group.caption, first_title=group.first_title)) != group.name
    }
    if names:
        await tx.execute(
            Q["name_groups"],
            id=list(names),
            name=list(names.values()),
            name_key=[name_key(name) for name in names.values()],
        )


async def _queue_rows(tx: Tx, item_ids: Collection[UUID], group_ids: Collection[UUID]) -> None:
    if item_ids or group_ids:
        await tx.execute(Q["queue_rows"], item_ids=sorted(item_ids), group_ids=sorted(group_ids))


async def _note_items(
    tx: Tx, item_ids: Collection[UUID], *, groups: Collection[UUID] = (), new: Collection[UUID] = ()
) -> None:
    """Have jobs do what follows from changed items, soon after the commit."""
    documents = {*item_ids, *groups}
    if documents:
        await tx.execute(
            Q["note_items"],
            document_ids=sorted(documents),
            item_ids=sorted(item_ids),
            new_ids=sorted(new),
            row_length=ROW_LENGTH,
        )
