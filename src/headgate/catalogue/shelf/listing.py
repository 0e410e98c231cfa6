"""Pages of the library, filtered and in a total order: nothing is repeated or skipped while items arrive.

How rows are found is decided here and not by the database's planner, which cannot know that a channel's items
are close in time, or a creator's in names. Rows of one channel, topic, creator or tag are listed by date.
Otherwise the next rows in order are checked, as long as the page is likely to be full within `MAX_WALK`; if
too few of them match, everything that has the facets is found and then sorted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import cast
from uuid import UUID

from headgate.domain.library.facets import FacetTerm
from headgate.domain.library.shelf_filters import ShelfFilters, ShelfSort, ShelfView
from headgate.domain.words.shelf_words import FilterChip, list_chips
from headgate.storage.database import Tx
from headgate.storage.shelf import descriptions, rows
from headgate.storage.shelf.rows import (
    STARTS,
    DateOrder,
    RowCandidate,
    ShelfCursor,
    ShelfOrder,
    ShelfRow,
    ShelfSearch,
    Walk,
)

FIRST_WALK = 500
"""Rows that are looked at in order, to see how many of them match."""
MAX_WALK = 4000
"""Rows that are looked at in order before everything that may match is sorted: as many take about as long."""
MAX_COUNTED = 2000
"""Rows of a facet that are counted to find the rarest; beyond that any will do."""
MAX_SPARE = 400
"""Candidates found by sorting everything, which would take as long for the next few."""
COUNT_CAP = 10_000
COUNT_MS = 1000
MAX_NEW = 100
"""Rows above the first one that are counted."""

_BACKWARDS: dict[ShelfOrder, ShelfOrder] = {
    "newest": "oldest",
    "oldest": "newest",
    "name": "name_back",
    "size": "smallest",
    "smallest": "size",
}


@dataclass(frozen=True)
class ChannelName:
    """A channel that a row is in."""

    id: UUID
    title: str


@dataclass(frozen=True)
class ListedRow(ShelfRow):
    """A row with what it shows beside its own columns."""

    cover_url: str
    """The smallest picture; empty if there is none."""
    channels: tuple[ChannelName, ...]
    """That of the first member first."""
    url: str
    """Where a post or a link leads; empty for everything else."""

    @property
    def also_in(self) -> tuple[ChannelName, ...]:
        """Of copies in several channels: all but the first."""
        return () if self.group_id else self.channels[1:]


@dataclass(frozen=True)
class ShelfPage:
    """Some rows in order, and where the pages around them begin."""

    rows: list[ListedRow]
    next: ShelfCursor | None
    """The place of the last row, if there are more behind it."""
    previous: ShelfCursor | None
    """The place of the first row, if there are or may be more before it."""


@dataclass(frozen=True)
class ShelfCount:
    """How many rows match: exactly, or `COUNT_CAP` and more, or an unknown number."""

    rows: int | None
    """None if counting took too long."""
    more: bool = False


async def list_shelf(
    tx: Tx,
    view: ShelfView,
    *,
    after: ShelfCursor | None = None,
    before: ShelfCursor | None = None,
    limit: int,
) -> ShelfPage:
    """Return the page after a place, or the one that ends before it, or the first one."""
    found = await find_rows(tx, view, after=after, before=before, limit=limit + 1)
    more, shown = len(found) > limit, found[:limit]
    if before is not None:
        shown = found[-limit:]
    listed = await _describe(tx, shown)
    if not shown:
        return ShelfPage([], None, None)
    first, last = place_of(shown[0], view.sort), place_of(shown[-1], view.sort)
    if before is not None:
        return ShelfPage(listed, last, first if more else None)
    return ShelfPage(listed, last if more else None, first if after is not None else None)


async def list_rows(tx: Tx, ids: Sequence[UUID]) -> list[ListedRow]:
    """Return the rows with these ids in the same order; those that are not there any more are left out."""
    found = await rows.list_matching(tx, ShelfSearch.of(ShelfFilters()), ids)
    return await _describe(tx, [found[row_id] for row_id in ids if row_id in found])


async def find_rows(
    tx: Tx,
    view: ShelfView,
    *,
    after: ShelfCursor | None = None,
    before: ShelfCursor | None = None,
    limit: int,
) -> list[ShelfRow]:
    """Return matching rows after a place, or the last ones before it, in the order of the view."""
    if before is not None:
        order = _BACKWARDS[view.sort]
        return (await _find(tx, view.filters, order, beyond=before, limit=limit))[::-1]
    return await _find(tx, view.filters, view.sort, beyond=after or STARTS[view.sort], limit=limit)


async def count_before(tx: Tx, view: ShelfView, place: ShelfCursor) -> ShelfCount:
    """Return how many rows have come before a place, for those who see the page from there on."""
    found = await find_rows(tx, view, before=place, limit=MAX_NEW + 1)
    return ShelfCount(min(len(found), MAX_NEW), more=len(found) > MAX_NEW)


async def count_shelf(tx: Tx, filters: ShelfFilters) -> ShelfCount:
    """Return how many rows match; it costs more than a page, so pages load it afterwards."""
    found = await rows.count_matching(tx, ShelfSearch.of(filters), cap=COUNT_CAP + 1, limit_ms=COUNT_MS)
    if found is None:
        return ShelfCount(None)
    return ShelfCount(min(found, COUNT_CAP), more=found > COUNT_CAP)


async def describe_view(tx: Tx, view: ShelfView) -> list[FilterChip]:
    """Return the filters of a view in words, each with the view without it."""
    return list_chips(view, await descriptions.name_filters(tx, view.filters))


def place_of(row: ShelfRow, sort: ShelfSort) -> ShelfCursor:
    """Return where a row stands."""
    match sort:
        case "newest" | "oldest":
            return ShelfCursor(row.sort_at, row.id)
        case "name":
            return ShelfCursor(row.name_key, row.id)
        case "size" | "smallest":
            return ShelfCursor(row.size_bytes, row.id)


async def _find(
    tx: Tx, filters: ShelfFilters, order: ShelfOrder, *, beyond: ShelfCursor, limit: int
) -> list[ShelfRow]:
    if filters == ShelfFilters():
        return await rows.list_page(tx, order, beyond=beyond, limit=limit)
    search = ShelfSearch.of(filters)
    found: list[ShelfRow] = []
    while True:
        candidates = await _list_candidates(tx, search, order, beyond=beyond, limit=limit)
        for start in range(0, len(candidates.found), limit):
            some = candidates.found[start : start + limit]
            matching = await rows.list_matching(tx, search, [one.id for one in some])
            found += [matching[one.id] for one in some if one.id in matching]
            if len(found) >= limit:
                return found[:limit]
        if candidates.to_the_end:
            return found
        # Some of them did not match after all.
        beyond = candidates.found[-1].cursor


async def _list_candidates(
    tx: Tx, search: ShelfSearch, order: ShelfOrder, *, beyond: ShelfCursor, limit: int
) -> Walk:
    """Return at least so many of the next rows that may match, or all."""
    walk = await _walk(tx, search, order, beyond=beyond, limit=limit)
    if walk.to_the_end or len(walk.found) == limit:
        return walk
    at_once = max(limit, MAX_SPARE)
    found = await rows.find_all(tx, search, order, beyond=beyond, limit=at_once)
    return Walk(found, to_the_end=len(found) < at_once)


async def _walk(tx: Tx, search: ShelfSearch, order: ShelfOrder, *, beyond: ShelfCursor, limit: int) -> Walk:
    """Look at the next rows, from where the dates of the filters let them begin."""
    begin = search.begins_in(order)
    if begin is None:
        return await _walk_on(tx, search, order, beyond=beyond, limit=limit)
    if order == "oldest":
        return await _walk_on(tx, search, order, beyond=max(beyond, begin), limit=limit)
    later = Walk([], to_the_end=True)
    if beyond > begin:
        later = await rows.walk_spread(tx, search, beyond=beyond, max_rows=MAX_WALK, limit=limit)
    if len(later.found) == limit or not later.to_the_end:
        return later
    left = limit - len(later.found)
    walk = await _walk_on(tx, search, order, beyond=min(beyond, begin), limit=left)
    return Walk(later.found + walk.found, walk.to_the_end)


async def _walk_on(
    tx: Tx, search: ShelfSearch, order: ShelfOrder, *, beyond: ShelfCursor, limit: int
) -> Walk:
    """Look at the next rows of the rarest facet that is listed in this order, or at the next rows of all."""
    dated = [term for term in search.terms if term.dated]
    if not dated or order not in {"newest", "oldest"}:
        return await _walk_at_pace(partial(rows.walk, tx, search, order), beyond=beyond, limit=limit)
    rarest = dated[0] if len(dated) == 1 else await _rarest(tx, dated)
    walk = partial(rows.walk_facets, tx, search, rarest.facets, cast("DateOrder", order))
    if search.is_one_facet:
        # All rows of the only facet match, apart from a few.
        return await walk(beyond=beyond, max_rows=limit, limit=limit)
    return await _walk_at_pace(walk, beyond=beyond, limit=limit)


async def _walk_at_pace(walk: Callable[..., Awaitable[Walk]], *, beyond: ShelfCursor, limit: int) -> Walk:
    """Look at some rows, and at more of them if so many match that the page will be full in time."""
    found: list[RowCandidate] = []
    walked, max_rows = 0, min(FIRST_WALK, MAX_WALK)
    while True:
        stretch = await walk(beyond=beyond, max_rows=max_rows, limit=limit - len(found))
        found += stretch.found
        walked += max_rows
        if stretch.to_the_end or len(found) == limit or not stretch.found:
            return Walk(found, stretch.to_the_end)
        max_rows = ceil((limit - len(found)) * walked / len(found) * 1.25)
        if walked + max_rows > MAX_WALK:
            return Walk(found, to_the_end=False)
        beyond = found[-1].cursor


async def _rarest(tx: Tx, terms: Sequence[FacetTerm]) -> FacetTerm:
    """Return the term that the fewest rows have."""
    facets = [facet for term in terms for facet in term.facets]
    counts = await rows.count_facets(tx, facets, cap=MAX_COUNTED)
    return min(terms, key=lambda term: sum(counts[facet] for facet in term.facets))


async def _describe(tx: Tx, found: Sequence[ShelfRow]) -> list[ListedRow]:
    described = await descriptions.describe_rows(tx, [row.id for row in found])
    listed: list[ListedRow] = []
    for row in found:
        # A row that is deleted between the two statements has no description, and is as it was.
        about = described.get(row.id)
        ids, titles = (about.channel_ids or [], about.channel_titles or []) if about else ([], [])
        channels = tuple(ChannelName(*pair) for pair in zip(ids, titles, strict=True))
        listed.append(
            ListedRow(
                **vars(row),
                cover_url=about.cover_url if about else "",
                channels=channels,
                url=about.url if about else "",
            )
        )
    return listed
