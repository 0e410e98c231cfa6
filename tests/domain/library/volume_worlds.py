"""Posted sets of one name with the truth about them, built without the rules under test.

Every world can be told apart by a person who sees its messages: sets are far apart in time, or come one after
the other in order, or have volumes of different sizes. What nobody could tell apart is not built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

from hypothesis import strategies as st

from headgate.domain.library.archive_sets.assembly import AssembledItem, assemble
from headgate.domain.library.archive_sets.volumes import Volume, read_volume_name

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3600, 86_400
MB = 1_000_000
FULL_SIZES = [10 * MB, 50 * MB, 95 * MB, 100 * MB, 700 * MB, 1_900 * MB, 2_000 * MB]

Names = Callable[[int, int], str]
"""The name of a volume, from its number and how many there are."""


def _old_rar(number: int, _total: int) -> str:
    return "Pack.rar" if number == 1 else f"Pack.r{number - 2:02}"


def _spanned_zip(number: int, total: int) -> str:
    return "Pack.zip" if number == total else f"Pack.z{number:02}"


NAMINGS: dict[str, Names] = {
    "part": lambda number, _: f"Pack.part{number}.rar",
    "padded part": lambda number, _: f"Pack.part{number:02}.rar",
    "old rar": _old_rar,
    "spanned zip": _spanned_zip,
    "7z": lambda number, _: f"Pack.7z.{number:03}",
    "tar.gz": lambda number, _: f"Pack.tar.gz.{number:03}",
    "bare": lambda number, _: f"Pack.{number:03}",
}


@dataclass(frozen=True)
class Posted:
    """One message with one file; `owner` is the set it is of, in truth."""

    owner: int
    file_name: str
    size_bytes: int
    at_s: int
    content_id: str = ""


def build_volume(posted: Posted, position: int) -> Volume:
    name = read_volume_name(posted.file_name)
    assert name is not None
    return Volume(
        key=f"{position}/file",
        name=name,
        size_bytes=posted.size_bytes,
        position=position,
        sent_at=BEGIN + timedelta(seconds=posted.at_s),
        content_id=posted.content_id,
    )


@dataclass(frozen=True)
class World:
    volumes: tuple[Volume, ...]
    truth: frozenset[frozenset[str]]
    """The keys of each set."""


def build_world(posts: Iterable[Posted]) -> World:
    """Number the messages in the order of their times; those of one second stay in the order given."""
    listed = sorted(posts, key=lambda posted: posted.at_s)
    volumes = tuple(build_volume(posted, position) for position, posted in enumerate(listed, start=1))
    owners: dict[int, set[str]] = {}
    for posted, volume in zip(listed, volumes, strict=True):
        owners.setdefault(posted.owner, set()).add(volume.key)
    return World(volumes, frozenset(frozenset(keys) for keys in owners.values()))


def keys_of(items: Iterable[AssembledItem]) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(volume.key for volume in item.volumes) for item in items)


def ident(number: int) -> UUID:
    return UUID(int=number)


class Library:
    """Volumes as they arrive, with the ids that the items of the last assembly had."""

    def __init__(self) -> None:
        self.volumes: list[Volume] = []
        self.items: tuple[AssembledItem, ...] = ()
        self._ids = count(1)

    def accept(self, volume: Volume) -> None:
        """Take in a volume and assemble all of them again."""
        found = assemble([*self.volumes, volume])
        self.items = tuple(
            item if item.item_id is not None else replace(item, item_id=ident(next(self._ids)))
            for item in found
        )
        self.volumes = [
            replace(volume, item_id=item.item_id) for item in self.items for volume in item.volumes
        ]


@st.composite
def _numbers(draw: st.DrawFn, total: int) -> list[int]:
    """The numbers that were posted: the first, at least one more, and perhaps not all others."""
    others = list(range(2, total + 1))
    kept = draw(st.lists(st.sampled_from(others), min_size=1, unique=True))
    return [1, *sorted(kept)] if draw(st.booleans()) else [1, *others]


@dataclass(frozen=True)
class Archive:
    """A set as its maker has it: the sizes of all volumes, and which of them get posted."""

    sizes: tuple[int, ...]
    numbers: tuple[int, ...]

    def posts(self, owner: int, names: Names, times: Sequence[int], numbers: Sequence[int]) -> list[Posted]:
        total = len(self.sizes)
        return [
            Posted(owner, names(number, total), self.sizes[number - 1], at_s)
            for number, at_s in zip(numbers, times, strict=True)
        ]


@st.composite
def archives(draw: st.DrawFn, owner: int, *, full: int | None = None) -> Archive:
    """Return an archive whose last volume is smaller, unlike that of any other archive of the world."""
    size = full if full is not None else draw(st.sampled_from(FULL_SIZES))
    total = draw(st.integers(2, 9))
    last = size // draw(st.integers(2, 9)) + 1 + owner
    return Archive((size,) * (total - 1) + (last,), tuple(draw(_numbers(total))))


@st.composite
def _times(draw: st.DrawFn, amount: int, *, start_s: int, most_s: int) -> list[int]:
    gaps = draw(st.lists(st.integers(0, most_s), min_size=amount, max_size=amount))
    times = [start_s]
    for gap in gaps[1:]:
        times.append(times[-1] + gap)
    return times


@st.composite
def distant_worlds(draw: st.DrawFn, *, apart_s: int = 30 * DAY) -> World:
    """Sets that are far apart, each posted within an hour or so and in any order."""
    names = NAMINGS[draw(st.sampled_from(sorted(NAMINGS)))]
    posts: list[Posted] = []
    start_s = 0
    for owner in range(draw(st.integers(1, 4))):
        archive = draw(archives(owner))
        numbers = draw(st.permutations(archive.numbers))
        if apart_s > 14 * DAY:
            numbers = numbers[: draw(st.integers(1, len(numbers)))]
        times = draw(_times(len(numbers), start_s=start_s, most_s=8 * MINUTE))
        posts += archive.posts(owner, names, times, numbers)
        start_s = times[-1] + apart_s + draw(st.integers(0, 5 * DAY))
    return build_world(posts)


@st.composite
def successive_worlds(draw: st.DrawFn) -> World:
    """Sets posted in order, one right after the other: each first volume begins a new one."""
    names = NAMINGS[draw(st.sampled_from(sorted(NAMINGS)))]
    full = draw(st.sampled_from([None, 95 * MB]))
    posts: list[Posted] = []
    start_s = 0
    for owner in range(draw(st.integers(1, 4))):
        archive = draw(archives(owner, full=full))
        times = draw(_times(len(archive.numbers), start_s=start_s, most_s=10 * MINUTE))
        posts += archive.posts(owner, names, times, archive.numbers)
        start_s = times[-1] + draw(st.integers(1 * MINUTE, 10 * MINUTE))
    return build_world(posts)


@st.composite
def mixed_worlds(draw: st.DrawFn) -> World:
    """Two sets posted at the same time, message by message, that differ in the size of their volumes."""
    names = NAMINGS[draw(st.sampled_from(["part", "7z", "old rar", "tar.gz"]))]
    sizes = draw(st.lists(st.sampled_from(FULL_SIZES), min_size=2, max_size=2, unique=True))
    posts = [
        Posted(owner, names(number, 99), size, at_s=0)
        for owner, size in enumerate(sizes)
        for number in range(1, draw(st.integers(3, 9)))
    ]
    waiting = [[posted for posted in posts if posted.owner == owner] for owner in (0, 1)]
    timed: list[Posted] = []
    at_s = 0
    for owner in draw(st.permutations([posted.owner for posted in posts])):
        at_s += draw(st.integers(0, 5 * MINUTE))
        timed.append(replace(waiting[owner].pop(0), at_s=at_s))
    return build_world(timed)


@st.composite
def reposting_worlds(draw: st.DrawFn) -> World:
    """Sets a month apart, each with single volumes posted again days later: second sources."""
    names = NAMINGS[draw(st.sampled_from(sorted(NAMINGS)))]
    posts: list[Posted] = []
    start_s = 0
    for owner in range(draw(st.integers(1, 3))):
        archive = draw(archives(owner))
        times = draw(_times(len(archive.numbers), start_s=start_s, most_s=10 * MINUTE))
        own = archive.posts(owner, names, times, archive.numbers)
        again = draw(st.lists(st.sampled_from(own[1:]), max_size=3, unique=True))
        late_s = times[-1]
        for posted in again:
            late_s += draw(st.integers(DAY, 4 * DAY))
            own.append(replace(posted, at_s=late_s))
        posts += own
        start_s = late_s + 30 * DAY
    return build_world(posts)


def worlds() -> st.SearchStrategy[World]:
    return st.one_of(
        distant_worlds(), distant_worlds(apart_s=DAY), successive_worlds(), mixed_worlds(), reposting_worlds()
    )
