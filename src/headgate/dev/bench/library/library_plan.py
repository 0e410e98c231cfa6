"""A library to be measured: which items there are, what they are called, and what belongs together.

Some channels are large, most are small, some ended years ago; creators are part of names; and few
tags are common. All of this makes a planner choose wrongly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import accumulate
from random import Random
from uuid import UUID

from headgate.domain.items import ItemKind
from headgate.domain.library.shelf_filters import ShelfState

SEED = 13
BEGAN_AT = datetime(2022, 1, 1, tzinfo=UTC)
ENDED_AT = datetime(2026, 1, 1, tzinfo=UTC)
CHANNELS = 200
OLD_CHANNELS = 20
"""The last of the channels: nothing was posted in them after the first year."""
TOPICS = 12
"""Of each tenth channel."""
CREATORS = 2_000
TAGS = 400
FILES_INSIDE = 10
"""Of each package that is stored."""
COPIES = 20
"""One of so many items is a copy of an earlier one, elsewhere."""
MEMBERS = (2, 3, 3, 4)
"""Of albums, in turn."""
GROUPS = 10
"""One group for so many items."""

MAX_EARLY = 5_000
"""Items that wait to be copied."""
MAX_APART = 4
"""Members of a group that lie far apart."""

WORDS = (
    "knight",
    "dragon",
    "tower",
    "bridge",
    "castle",
    "goblin",
    "forest",
    "wizard",
    "statue",
    "terrain",
    "dungeon",
    "ship",
    "robot",
    "helmet",
    "shield",
    "sword",
    "throne",
    "temple",
    "ruins",
    "market",
    "tavern",
    "golem",
    "phoenix",
    "serpent",
    "raven",
    "lantern",
    "anchor",
    "compass",
    "clock",
    "engine",
)
_TYPES: dict[ItemKind, tuple[str, ...]] = {
    "package": ("zip", "zip", "zip", "rar", "7z"),
    "clip": ("mp4", "mkv"),
    "picture": ("jpg", "png"),
    "file": ("stl", "3mf", "pdf"),
}
_KINDS: dict[ItemKind, int] = {"package": 12, "clip": 3, "picture": 3, "file": 2}
_STATES: dict[ShelfState, int] = {"stored": 10, "listed": 7, "waiting": 2, "dropped": 1}


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An item, and all that the library knows of it."""

    number: int
    channel: int
    topic: str
    kind: ItemKind
    type: str
    title: str
    size_bytes: int
    sent_at: datetime
    state: ShelfState
    failed: bool
    """A download gave up."""
    content: int
    """The number of the item that has the same content first."""
    creator: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """Items that are shown as one."""

    number: int
    album: bool
    """Otherwise made by hand, of items that lie years apart."""
    name: str
    members: tuple[PlannedItem, ...]


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """What stands on one row: a group, or one content."""

    members: tuple[PlannedItem, ...]
    group: PlannedGroup | None = None


def uuid_of(table: int, number: int) -> UUID:
    """Return an id of its own for each row of each table, in the order of their numbers."""
    return UUID(int=(0x0190_0000_0000_7000_8000 << 48) | (table << 40) | number)


def channel_id(number: int) -> UUID:
    return uuid_of(1, number)


def item_id(number: int) -> UUID:
    return uuid_of(2, number)


def creator_name(number: int) -> str:
    return f"{WORDS[number % len(WORDS)].capitalize()} Studio {number}"


def tag_name(number: int) -> str:
    return f"{WORDS[number % len(WORDS)]}-{number}"


def content_sha256(number: int) -> bytes:
    return sha256(f"content {number}".encode()).digest()


class LibraryPlan:
    """All rows of a library of some size, one after the other; always the same ones."""

    def __init__(self, items: int) -> None:
        self.items = items
        self._random = Random(SEED)  # noqa: S311 - a plan is not a secret
        self._channel_weights = list(accumulate(1 / (n + 2) for n in range(CHANNELS)))
        self._creator_weights = list(accumulate(1 / (n + 5) for n in range(CREATORS)))
        self._tag_weights = list(accumulate(1 / (n + 3) for n in range(TAGS)))
        self._channels, self._creators, self._tags = range(CHANNELS), range(CREATORS), range(TAGS)
        self._step = (ENDED_AT - BEGAN_AT) / items

    def rows(self) -> Iterator[PlannedRow]:
        """Yield all rows: about a tenth of the items begin an album, and a twentieth are copies."""
        number = groups = copies = 0
        early: list[PlannedItem] = []
        apart: list[PlannedItem] = []
        while number < self.items:
            if groups * GROUPS < number and number + max(MEMBERS) <= self.items:
                count = MEMBERS[groups % len(MEMBERS)]
                yield self._album(number, groups, count)
                groups, number = groups + 1, number + count
                continue
            item = self._item(number, number)
            number += 1
            if item.number % (self.items // 400 + 1) == 0:
                apart.append(item)
            elif item.state == "stored" and len(early) < MAX_EARLY:
                early.append(item)
            else:
                yield PlannedRow((item,))
            if len(apart) == MAX_APART:
                yield self._by_hand(groups, apart)
                groups, apart = groups + 1, []
            if copies * COPIES < number < self.items and early:
                first = early.pop(self._random.randrange(len(early)))
                yield PlannedRow((first, self._copy(number, first)))
                copies, number = copies + 1, number + 1
        yield from (PlannedRow((item,)) for item in (*early, *apart))

    def _item(self, number: int, place: int) -> PlannedItem:
        choose = self._random
        channel = choose.choices(self._channels, cum_weights=self._channel_weights)[0]
        at = BEGAN_AT + self._step * place
        if channel >= CHANNELS - OLD_CHANNELS:
            at = BEGAN_AT + self._step * place / 4
        creator = creator_name(choose.choices(self._creators, cum_weights=self._creator_weights)[0])
        kind = choose.choices(list(_KINDS), list(_KINDS.values()))[0]
        state = choose.choices(list(_STATES), list(_STATES.values()))[0]
        tags = {
            tag_name(tag)
            for tag in choose.choices(self._tags, cum_weights=self._tag_weights, k=choose.randrange(4))
        }
        return PlannedItem(
            number=number,
            channel=channel,
            topic=f"topic-{choose.randrange(TOPICS)}" if channel % 10 == 0 else "",
            kind=kind,
            type=choose.choice(_TYPES[kind]),
            title=f"{creator} {choose.choice(WORDS)} {choose.choice(WORDS)} {number}",
            size_bytes=int(choose.lognormvariate(16, 2)) + 1,
            sent_at=at,
            state=state,
            failed=state == "listed" and number % 97 == 0,
            content=number,
            creator=creator if choose.random() < 0.9 else "",
            tags=tuple(sorted(tags)),
        )

    def _album(self, number: int, group: int, count: int) -> PlannedRow:
        first = self._item(number, number)
        members = [first]
        for offset in range(1, count):
            other = self._item(number + offset, number)
            members.append(
                PlannedItem(
                    number=other.number,
                    channel=first.channel,
                    topic=first.topic,
                    kind=other.kind,
                    type=other.type,
                    title=other.title,
                    size_bytes=other.size_bytes,
                    sent_at=first.sent_at + timedelta(seconds=offset),
                    state=other.state,
                    failed=other.failed,
                    content=other.content,
                    creator=first.creator,
                    tags=other.tags,
                )
            )
        name = f"{first.creator or 'Unknown'} {WORDS[group % len(WORDS)]} album {group}"
        return PlannedRow(tuple(members), PlannedGroup(group, True, name, tuple(members)))

    def _by_hand(self, group: int, members: Sequence[PlannedItem]) -> PlannedRow:
        made = PlannedGroup(group, False, f"Collected {WORDS[group % len(WORDS)]} {group}", tuple(members))
        return PlannedRow(made.members, made)

    def _copy(self, number: int, first: PlannedItem) -> PlannedItem:
        copy = self._item(number, number)
        return PlannedItem(
            number=number,
            channel=copy.channel,
            topic=copy.topic,
            kind=first.kind,
            type=first.type,
            title=copy.title,
            size_bytes=first.size_bytes,
            sent_at=max(copy.sent_at, first.sent_at + timedelta(seconds=1)),
            state="stored",
            failed=False,
            content=first.number,
            creator=copy.creator,
            tags=copy.tags,
        )
