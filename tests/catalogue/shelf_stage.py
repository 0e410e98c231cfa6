"""A library on a fresh database, made item by item, and the same library as a plain model in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from random import Random
from typing import Any
from uuid import UUID, uuid4

from headgate.domain.library.label_rules import label_key
from headgate.domain.library.name_keys import name_key
from headgate.domain.library.shelf_filters import ShelfFilters, ShelfSort, ShelfView, TopicName
from headgate.storage.database import Database, Tx
from headgate.storage.shelf.rows import ShelfCursor
from headgate.storage.shelf.touched import touch_groups, touch_items

START = datetime(2026, 1, 1, tzinfo=UTC)
CHANNELS = tuple(UUID(int=number + 1) for number in range(3))


@dataclass(frozen=True)
class StagedItem:
    """An item with everything that filters ask for."""

    id: UUID = field(default_factory=uuid4)
    channel: UUID = CHANNELS[0]
    topic: str = ""
    kind: str = "package"
    type: str = "zip"
    title: str = "knight"
    size_bytes: int = 100
    sent_at: datetime = START
    state: str = "listed"
    failed: bool = False
    content: str = ""
    """Of a stored item: items with the same are copies."""
    creator: str = ""
    tags: tuple[str, ...] = ()
    group: UUID | None = None

    @property
    def row_key(self) -> object:
        """What items of one row share."""
        return self.group or (f"content {self.content}" if self.content else self.id)


@dataclass(frozen=True)
class ModelRow:
    """A row as a person would work it out."""

    members: tuple[StagedItem, ...]

    @property
    def first(self) -> StagedItem:
        return min(self.members, key=lambda item: (item.sent_at, item.id))

    @property
    def id(self) -> UUID:
        return self.first.group or self.first.id

    @property
    def posted_at(self) -> datetime:
        dates = [item.sent_at for item in self.members]
        return max(dates) if self.first.group else min(dates)

    @property
    def size_bytes(self) -> int:
        return sum(item.size_bytes for item in self.members) if self.first.group else self.first.size_bytes

    def name(self, groups: dict[UUID, str]) -> str:
        return groups[self.first.group] if self.first.group else self.first.title

    def matches(self, filters: ShelfFilters) -> bool:
        return any(self._member_matches(item, filters) for item in self.members)

    def _member_matches(self, item: StagedItem, wanted: ShelfFilters) -> bool:
        day = (item.sent_at if item.group else self.posted_at).date()
        return all(
            (
                not wanted.channels or item.channel in wanted.channels,
                not wanted.topics or TopicName(item.channel, item.topic) in wanted.topics,
                not wanted.creators or label_key(item.creator) in wanted.creators,
                set(wanted.tags) <= {label_key(tag) for tag in item.tags},
                not wanted.types or item.type in wanted.types,
                not wanted.kinds or item.kind in wanted.kinds,
                not wanted.states or item.state in wanted.states,
                wanted.date_from is None or day >= wanted.date_from,
                wanted.date_to is None or day <= wanted.date_to,
                wanted.min_bytes is None or item.size_bytes >= wanted.min_bytes,
                wanted.max_bytes is None or item.size_bytes <= wanted.max_bytes,
                not wanted.ungrouped or item.group is None,
                not wanted.problems or item.failed,
            )
        )


@dataclass
class ShelfStage:
    """Writes items and groups as the product would have them, and lets the product write the shelf."""

    database: Database
    items: list[StagedItem] = field(default_factory=list[StagedItem])
    groups: dict[UUID, str] = field(default_factory=dict[UUID, str])

    async def ask(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        async with self.database.transaction() as tx:
            return await tx.raw(sql, arguments)

    async def open(self) -> None:
        for number, channel in enumerate(CHANNELS):
            await self.ask(
                "insert into channel (id, platform, key, kind, title, created_at)"
                " values ($1, 'simulated', $2, 'stream', $3, $4)",
                channel,
                f"c{number}",
                f"Channel {number}",
                START,
            )

    async def add_group(self, name: str) -> UUID:
        group = uuid4()
        self.groups[group] = name
        await self.ask(
            "insert into item_group (id, kind, name, name_key, name_by, created_at)"
            " values ($1, 'hand', $2, $3, 'person', $4)",
            group,
            name,
            name_key(name),
            START,
        )
        return group

    async def add(self, *items: StagedItem) -> None:
        self.items += items
        async with self.database.transaction() as tx:
            for item in items:
                await _insert(tx, item)
            touch_items(tx, [item.id for item in items])
            touch_groups(tx, {item.group for item in items if item.group})

    async def remove(self, item: StagedItem) -> None:
        """Hide an item, as settings do."""
        self.items.remove(item)
        async with self.database.transaction() as tx:
            await tx.raw("update item set hidden = true where id = $1", [item.id])
            touch_items(tx, [item.id])

    async def retitle(self, item: StagedItem, **changes: Any) -> StagedItem:
        """Change what an item is called or how large it is."""
        changed = replace(item, **changes)
        self.items[self.items.index(item)] = changed
        async with self.database.transaction() as tx:
            await tx.raw(
                "update item set title = $2, name_key = $3, size_bytes = $4 where id = $1",
                [changed.id, changed.title, name_key(changed.title), changed.size_bytes],
            )
            touch_items(tx, [changed.id])
        return changed

    def rows(self) -> list[ModelRow]:
        by_key: dict[object, list[StagedItem]] = {}
        for item in self.items:
            by_key.setdefault(item.row_key, []).append(item)
        return [ModelRow(tuple(members)) for members in by_key.values()]

    def row_ids(self, keys: set[object]) -> set[UUID]:
        """Return the rows of what items share, as they are now."""
        return {row.id for row in self.rows() if row.first.row_key in keys}

    def place(self, row: ModelRow, sort: ShelfSort) -> ShelfCursor:
        if sort in {"newest", "oldest"}:
            return ShelfCursor(row.posted_at, row.id)
        return ShelfCursor(name_key(row.name(self.groups)) if sort == "name" else row.size_bytes, row.id)

    def expected(self, view: ShelfView) -> list[UUID]:
        """Return the rows that a view shows, in order."""
        found = [row for row in self.rows() if row.matches(view.filters)]

        def key(row: ModelRow) -> tuple[Any, ...]:
            place = self.place(row, view.sort)
            return (place.key.encode() if isinstance(place.key, str) else place.key, place.id)

        return [row.id for row in sorted(found, key=key, reverse=view.sort in {"newest", "size"})]


async def _insert(tx: Tx, item: StagedItem) -> None:
    await tx.raw(
        "insert into item (id, channel_id, content_key, kind, type, title, name_key, size_bytes, sent_at,"
        " caught_at, group_id, grouped_by) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        [
            item.id, item.channel, f"place:{item.id}", item.kind, item.type, item.title, name_key(item.title),
            item.size_bytes, item.sent_at, item.sent_at + timedelta(hours=1), item.group,
            "person" if item.group else "",
        ],
    )  # fmt: skip
    sighting = uuid4()
    await tx.raw(
        "insert into sighting (id, channel_id, message_key, attachment_key, position, topic, file_name,"
        " size_bytes, mime_type, sent_at, version_at, seen_at, verdict, item_id)"
        " values ($1, $2, $3, '1', 1, $4, 'f', $5, '', $6, $6, $6, 'kept', $7)",
        [sighting, item.channel, str(item.id), item.topic, item.size_bytes, item.sent_at, item.id],
    )
    blob = await _store(tx, item) if item.state == "stored" else None
    state = {"stored": "stored", "waiting": "wanted", "dropped": "dropped"}.get(item.state, "failed")
    if item.state != "listed" or item.failed:
        await tx.raw(
            "insert into item_file (sighting_id, channel_id, state, blob_id) values ($1, $2, $3, $4)",
            [sighting, item.channel, state, blob],
        )
    labels = [("creator", item.creator)] if item.creator else []
    for kind, name in labels + [("tag", tag) for tag in item.tags]:
        await tx.raw(
            "insert into item_label (item_id, kind, source, key, name, rule)"
            " values ($1, $2, 'rule', $3, $4, 'test')",
            [item.id, kind, label_key(name), name],
        )


async def _store(tx: Tx, item: StagedItem) -> UUID:
    content = sha256((item.content or str(item.id)).encode()).digest()
    blob = UUID(bytes=content[:16])
    await tx.raw(
        "insert into blob (id, sha256, size_bytes, object_name, created_at) values ($1, $2, $3, $4, $5)"
        " on conflict do nothing",
        [blob, content, item.size_bytes, content.hex(), START],
    )
    await tx.raw(
        "insert into inspection (item_id, state, volumes, inspected_at) values ($1, 'plain', $2, $3)",
        [item.id, [blob], START],
    )
    return blob


WORDS = ("knight", "Étoile", "castle 2", "castle 10", "dragon")
TAGS = ("elves", "resin", "pre supported")
CREATORS = ("", "Mara", "Tidewater")


def random_item(choose: Random, groups: Sequence[UUID]) -> StagedItem:
    """Return an item that shares something with others in every respect."""
    state = choose.choice(("stored", "waiting", "listed", "dropped"))
    group = choose.choice((None, None, *groups))
    # Sizes of copies are equal, so they depend on the content.
    content = choose.choice(("", "one", "two")) if state == "stored" and group is None else ""
    return StagedItem(
        channel=choose.choice(CHANNELS),
        topic=choose.choice(("", "a", "b")),
        kind=choose.choice(("package", "clip")),
        type=choose.choice(("zip", "rar", "")),
        title=choose.choice(WORDS),
        size_bytes={"one": 50, "two": 200}.get(content) or choose.choice((10, 100, 1000)),
        sent_at=START + timedelta(hours=choose.randrange(24 * 10)),
        state=state,
        failed=state == "listed" and choose.random() < 0.3,
        content=content,
        creator=choose.choice(CREATORS),
        tags=tuple(sorted(choose.sample(TAGS, choose.randrange(3)))),
        group=group,
    )


def random_filters(choose: Random, *, fields: int) -> ShelfFilters:
    """Return filters by some fields at once."""
    kinds: dict[str, Any] = {
        "channels": tuple(choose.sample(CHANNELS, choose.choice((1, 1, 2)))),
        "topics": tuple(
            TopicName(choose.choice(CHANNELS), key) for key in choose.choice((("a",), ("a", "b")))
        ),
        "creators": tuple(label_key(name) for name in choose.sample(CREATORS[1:], choose.choice((1, 2)))),
        "tags": tuple(label_key(tag) for tag in choose.sample(TAGS, choose.choice((1, 1, 2)))),
        "types": choose.choice((("zip",), ("rar", "zip"))),
        "kinds": choose.choice((("clip",), ("clip", "package"))),
        "states": tuple(choose.sample(("stored", "waiting", "listed", "dropped"), choose.choice((1, 2)))),
        "date_from": (START + timedelta(days=choose.randrange(9))).date(),
        "date_to": (START + timedelta(days=choose.randrange(2, 10))).date(),
        "min_bytes": choose.choice((20, 150)),
        "max_bytes": choose.choice((60, 300)),
        "ungrouped": True,
        "problems": True,
    }
    names = choose.sample(sorted(kinds), fields)
    return ShelfFilters(**{name: kinds[name] for name in names})
