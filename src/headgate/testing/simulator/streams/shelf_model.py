"""What the library should show, computed the long way from items, groups and sightings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Connection, Tx
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "shelf model",
    """
-- name: items
select id, channel_id, kind, type, title, size_bytes, sent_at, caught_at, hidden, content_hash, group_id
from item

-- name: groups
select id, name from item_group

-- name: shelf
select id, item_id, name, kind, type, size_bytes, member_count, channel_ids, sort_at from shelf

-- name: apart
select s.item_id, m.channel_id, m.album, g.id as group_id,
       exists (select from group_exclusion x where x.item_id = s.item_id and x.group_id = g.id) as excluded,
       g.dissolved_at is not null as dissolved
from message m
join sighting s on s.channel_id = m.channel_id and s.message_key = m.key
left join item_group g on g.kind = 'album' and g.channel_id = m.channel_id and g.source_key = m.album
where m.album <> '' and s.item_id is not null
""",
)


@dataclass(frozen=True)
class Item:
    """An item, as it is stored."""

    id: UUID
    channel_id: UUID
    kind: str
    type: str
    title: str
    size_bytes: int
    sent_at: datetime
    caught_at: datetime
    hidden: bool
    content_hash: bytes | None
    group_id: UUID | None

    @property
    def posted(self) -> tuple[datetime, UUID]:
        return min(self.sent_at, self.caught_at), self.id


@dataclass(frozen=True)
class Group:
    """A group and its name."""

    id: UUID
    name: str


@dataclass(frozen=True)
class ShelfRow:
    """One row, as far as it follows from items and groups alone."""

    id: UUID
    item_id: UUID
    name: str
    kind: str
    type: str
    size_bytes: int
    member_count: int
    channel_ids: list[UUID]
    sort_at: datetime


@dataclass(frozen=True)
class AlbumItem:
    """An item of an album, and the album's group if there is one."""

    item_id: UUID
    channel_id: UUID
    album: str
    group_id: UUID | None
    excluded: bool
    dissolved: bool


async def check_shelf(director: Connection, *, at_rest: bool) -> list[str]:
    """Return where the shelf is not what it should be; albums are complete only when all is at rest."""
    tx = Tx(director)
    items = {item.id: item for item in await tx.all(Item, Q["items"])}
    names = {group.id: group.name for group in await tx.all(Group, Q["groups"])}
    rows = {row.id: row for row in await tx.all(ShelfRow, Q["shelf"])}
    wanted = {row.id: row for row in _expect(list(items.values()), names)}
    failures = [*_compare(rows, wanted)]
    if at_rest:
        failures += _check_albums(items, await tx.all(AlbumItem, Q["apart"]))
    return failures


def _expect(items: Sequence[Item], names: dict[UUID, str]) -> Iterator[ShelfRow]:
    """Go through the rows that these items make."""
    together: dict[object, list[Item]] = defaultdict(list)
    for item in items:
        if not item.hidden:
            together[item.group_id or item.content_hash or item.id].append(item)
    for members in together.values():
        members.sort(key=lambda item: item.posted)
        first, group_id = members[0], members[0].group_id
        kinds, types = {item.kind for item in members}, {item.type for item in members}
        yield ShelfRow(
            id=group_id or first.id,
            item_id=first.id,
            name=names[group_id] if group_id else first.title,
            kind=first.kind if len(kinds) == 1 else "mixed",
            type=first.type if len(types) == 1 else "mixed",
            size_bytes=sum(item.size_bytes for item in members) if group_id else first.size_bytes,
            member_count=len(members),
            channel_ids=sorted({item.channel_id for item in members}),
            sort_at=(members[-1] if group_id else first).posted[0],
        )


def _compare(rows: dict[UUID, ShelfRow], wanted: dict[UUID, ShelfRow]) -> Iterator[str]:
    for row_id in rows.keys() - wanted.keys():
        yield f"the shelf has {rows[row_id].name!r}, which is nothing"
    for row_id in wanted.keys() - rows.keys():
        yield f"the shelf lacks {wanted[row_id].name!r}"
    for row_id in rows.keys() & wanted.keys():
        if rows[row_id] != wanted[row_id]:
            yield f"the shelf says {rows[row_id]}, should be {wanted[row_id]}"


def _check_albums(items: dict[UUID, Item], seen: Sequence[AlbumItem]) -> Iterator[str]:
    """What was posted as one is together, unless a person took it apart."""
    apart: dict[tuple[UUID, str], set[UUID]] = defaultdict(set)
    grouped: set[tuple[UUID, str]] = set()
    for one in seen:
        item = items[one.item_id]
        if item.hidden or item.group_id is not None or one.excluded or one.dissolved:
            continue
        apart[one.channel_id, one.album].add(item.id)
        if one.group_id is not None:
            grouped.add((one.channel_id, one.album))
    for album, item_ids in apart.items():
        if album in grouped or len(item_ids) > 1:
            yield f"{len(item_ids)} items of the album {album[1]} are apart from it"
