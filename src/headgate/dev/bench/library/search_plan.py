"""The documents and archives of a planned library, and what is searched for in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import lru_cache
from random import Random
from uuid import UUID

from headgate.dev.bench.library.library_plan import (
    CREATORS,
    FILES_INSIDE,
    SEED,
    WORDS,
    LibraryPlan,
    PlannedGroup,
    PlannedItem,
    PlannedRow,
    channel_id,
    creator_name,
    item_id,
    tag_name,
    uuid_of,
)
from headgate.dev.bench.library.search_cases import SearchCase, load_documents, misspelt
from headgate.domain.library.facets import FacetKind, facet_number
from headgate.domain.library.label_rules import label_key
from headgate.domain.library.search.search_documents import SearchTexts
from headgate.domain.library.shelf_filters import ShelfFilters
from headgate.storage.database import Connection
from headgate.storage.shelf.refresh import album_group_id

AT_ONCE = 20_000
_SYLLABLES = ("ka", "lo", "mi", "ru", "te", "sha", "dor", "vel", "nim", "bra", "gul", "zen")
_LATER = timedelta(hours=1)
"""After it was posted, an item is caught."""


async def load_search(connection: Connection, items: int) -> int:
    """Load what is inside archives and the documents of a library that is loaded; returns how many."""
    async with (
        connection.cursor() as cursor,
        cursor.copy("copy content_entry (item_id, number, path) from stdin") as copy,
    ):
        lines: list[str] = []
        for row in LibraryPlan(items).rows():
            lines += [line for item in row.members for line in _entries(item)]
            if len(lines) >= AT_ONCE:
                await copy.write("".join(lines))
                lines = []
        await copy.write("".join(lines))
    return await load_documents(connection, list_texts(items))


def list_texts(items: int) -> Iterator[SearchTexts]:
    """Yield what the documents of a planned library are made of, about in their order of arrival."""
    for row in LibraryPlan(items).rows():
        if row.group is not None:
            yield _group_texts(row, row.group)
        for item in row.members:
            yield _item_texts(item, row)


def search_cases(items: int) -> tuple[SearchCase, ...]:
    """Return the mix that is measured: rare, common, unfinished and misspelt words, and filters."""
    choose = Random(SEED)  # noqa: S311 - not a secret
    numbers = [choose.randrange(items) for _ in range(20)]
    made = [made_word(number) for number in numbers]
    return (
        SearchCase("rare: few items", tuple(f"studio {number}" for number in numbers)),
        SearchCase("rare: not there", ("unobtainium", "xyzzy plugh")),
        SearchCase("common", (*WORDS[:6], "studio", "stl", "dragon tower")),
        SearchCase("two letters", ("kn", "dr", "st", "an", "te")),
        SearchCase("one letter", ("k", "s")),
        SearchCase("misspelt", tuple(misspelt(word, choose) for word in WORDS if len(word) > 5)),
        SearchCase("inside archives", tuple(made)),
        SearchCase("inside archives, unfinished", tuple(f"{word[:5]} stl" for word in made)),
        SearchCase("common, with a tag", tuple(WORDS[:4]), ShelfFilters(tags=(label_key(tag_name(300)),))),
        SearchCase(
            "common, by a rare creator",
            tuple(WORDS[:4]),
            ShelfFilters(creators=(label_key(creator_name(CREATORS - 1)),)),
        ),
    )


@lru_cache(maxsize=200_000)
def made_word(number: int) -> str:
    """Return a word that few archives have, one of some ten thousand."""
    rest = number * 7 + 13
    word = ""
    for _ in range(4):
        rest, place = divmod(rest, len(_SYLLABLES))
        word += _SYLLABLES[place]
    return word


def paths_inside(item: PlannedItem) -> list[str]:
    """Return the files inside an item, if it is a package that is stored."""
    if item.kind != "package" or item.state != "stored":
        return []
    folder = WORDS[item.number % len(WORDS)]
    return [f"{folder}/{made_word(item.number)}_{part:02}.stl" for part in range(FILES_INSIDE)]


def _entries(item: PlannedItem) -> Iterable[str]:
    paths = paths_inside(item)
    return [f"{item_id(item.number)}\t{number}\t{path}\n" for number, path in enumerate(paths)]


def _group_texts(row: PlannedRow, group: PlannedGroup) -> SearchTexts:
    made_at = row.members[0].sent_at
    facets = {facet for item in row.members for facet in _facets(item, grouped=True)}
    return SearchTexts(_group_id(row), True, made_at, made_at, group.name, facets=tuple(sorted(facets)))


def _item_texts(item: PlannedItem, row: PlannedRow) -> SearchTexts:
    in_album = row.group is not None and row.group.album
    return SearchTexts(
        id=item_id(item.number),
        is_group=False,
        posted_at=item.sent_at,
        caught_at=item.sent_at + _LATER,
        name=item.title,
        creator=item.creator,
        tags=item.tags,
        captions=(row.group.name,) if row.group and in_album else (),
        file_names=(f"{item.title}.{item.type}",) if in_album else (),
        paths=tuple(paths_inside(item)),
        facets=tuple(_facets(item, grouped=row.group is not None)),
    )


def _facets(item: PlannedItem, *, grouped: bool) -> Iterator[int]:
    place = str(channel_id(item.channel))
    yield _facet("channel", place)
    yield _facet("kind", item.kind)
    yield _facet("type", item.type)
    if item.topic:
        yield _facet("topic", f"{place}/{item.topic}")
    if item.creator:
        yield _facet("creator", label_key(item.creator))
    for tag in item.tags:
        yield _facet("tag", label_key(tag))
    if not grouped:
        yield _facet("ungrouped", "")


def _group_id(row: PlannedRow) -> UUID:
    if row.group is None or not row.group.album:
        return uuid_of(3, row.group.number if row.group else 0)
    return album_group_id((channel_id(row.members[0].channel), f"album-{row.group.number}"))


@lru_cache(maxsize=100_000)
def _facet(kind: FacetKind, key: str) -> int:
    return facet_number(kind, key)
