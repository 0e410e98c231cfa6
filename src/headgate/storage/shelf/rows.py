"""Reading the shelf: pages in a total order, with and without filters, and how many rows there are.

Rows are found in two steps. Facets, dates and sizes find those that may match, in a way that callers choose.
Then each is checked by its members: things can share a facet, and a group has those of all members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple
from uuid import UUID

import psycopg

from headgate.domain.library.facets import FacetTerm, facet_terms
from headgate.domain.library.shelf_filters import MAX_BYTES, ShelfFilters, ShelfState
from headgate.storage.database import Tx
from headgate.storage.queries import Query, load_queries

Q = load_queries(__name__)

ShelfOrder = Literal["newest", "oldest", "name", "name_back", "size", "smallest"]
DateOrder = Literal["newest", "oldest"]

_PAGES: dict[ShelfOrder, Query] = {
    "newest": Q["page_newest"],
    "oldest": Q["page_oldest"],
    "name": Q["page_name"],
    "name_back": Q["page_name_back"],
    "size": Q["page_size"],
    "smallest": Q["page_smallest"],
}
_WALKS: dict[ShelfOrder, Query] = {
    "newest": Q["walk_newest"],
    "oldest": Q["walk_oldest"],
    "name": Q["walk_name"],
    "name_back": Q["walk_name_back"],
    "size": Q["walk_size"],
    "smallest": Q["walk_smallest"],
}
_FOUND: dict[ShelfOrder, Query] = {
    "newest": Q["found_newest"],
    "oldest": Q["found_oldest"],
    "name": Q["found_name"],
    "name_back": Q["found_name_back"],
    "size": Q["found_size"],
    "smallest": Q["found_smallest"],
}
_LISTED: dict[ShelfOrder, Query] = {
    "newest": Q["listed_newest"],
    "oldest": Q["listed_oldest"],
    "name": Q["listed_name"],
    "name_back": Q["listed_name_back"],
    "size": Q["listed_size"],
    "smallest": Q["listed_smallest"],
}
_RANGES: dict[ShelfOrder, Query] = {
    "newest": Q["ranges_newest"],
    "oldest": Q["ranges_oldest"],
    "name": Q["ranges_name"],
    "name_back": Q["ranges_name_back"],
    "size": Q["ranges_size"],
    "smallest": Q["ranges_smallest"],
}
_FACET_WALKS: dict[DateOrder, Query] = {
    "newest": Q["walk_facet_newest"],
    "oldest": Q["walk_facet_oldest"],
}

_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)
_SHORT = timedelta(hours=1)
"""Members that are closer together need no index of their own; as in the index `shelf_spread`."""
_ANY_TERMS = 6
"""Fields of which several values can be chosen: topics, channels, creators, types, states and kinds."""
_LOW, _HIGH = UUID(int=0), UUID(int=2**128 - 1)


class ShelfCursor(NamedTuple):
    """A place in the order: the value that rows are sorted by, and the row's id."""

    key: datetime | str | int
    id: UUID


STARTS: dict[ShelfOrder, ShelfCursor] = {
    "newest": ShelfCursor(_LATEST, _HIGH),
    "oldest": ShelfCursor(_EARLIEST, _LOW),
    "name": ShelfCursor("", _LOW),
    "name_back": ShelfCursor("\U0010ffff" * 100, _HIGH),
    "size": ShelfCursor(MAX_BYTES, _HIGH),
    "smallest": ShelfCursor(-1, _LOW),
}
"""Before the first row."""


@dataclass(frozen=True)
class ShelfRow:
    """One thing of the library: a group, an item, or several items with the same content."""

    id: UUID
    group_id: UUID | None
    item_id: UUID
    """The first member."""
    name: str
    name_key: str
    kind: str
    """Of all members, or `mixed`."""
    type: str
    size_bytes: int
    file_count: int
    member_count: int
    content_count: int
    """Members that are not copies of others."""
    tags: list[str]
    creators: list[str]
    channel_ids: list[UUID]
    cover_item_id: UUID | None
    state: ShelfState
    problem: bool
    sort_at: datetime


class RowCandidate(NamedTuple):
    """A row that may match, and where it stands."""

    id: UUID
    key: datetime | str | int

    @property
    def cursor(self) -> ShelfCursor:
        return ShelfCursor(self.key, self.id)


@dataclass(frozen=True)
class Walk:
    """What was found on the way through some rows."""

    found: list[RowCandidate]
    to_the_end: bool
    """There are no more rows that may match."""


class _Step(NamedTuple):
    walked: int
    id: UUID | None
    """None in the only row, if nothing was found."""
    key: Any


@dataclass(frozen=True)
class ShelfSearch:
    """Filters as the statements take them."""

    filters: ShelfFilters
    terms: tuple[FacetTerm, ...]

    @classmethod
    def of(cls, filters: ShelfFilters) -> ShelfSearch:
        return cls(filters, facet_terms(filters))

    @property
    def is_one_facet(self) -> bool:
        """Whether rows that have the only facet match without more."""
        filters = self.filters
        return len(self.terms) == 1 and (filters.min_bytes, filters.max_bytes, filters.date_to) == (None,) * 3

    def begins_in(self, order: ShelfOrder) -> ShelfCursor | None:
        """Return the place before which no row can match, apart from spread ones; none for the start."""
        ranges = self._ranges
        if order == "newest" and self.filters.ends_at:
            return ShelfCursor(ranges["reach_at"], _LOW)
        if order == "oldest" and self.filters.begins_at:
            return ShelfCursor(ranges["begins_at"], _LOW)
        return None

    @property
    def rough(self) -> dict[str, Any]:
        """What a row must have so that one of its members can match."""
        several = [list(term.facets) for term in self.terms if len(term.facets) > 1]
        single = [term.facets[0] for term in self.terms if len(term.facets) == 1]
        unused: list[list[int] | None] = [None] * (_ANY_TERMS - len(several))
        any_of = {f"any_{number}": facets for number, facets in enumerate([*several, *unused], start=1)}
        return {"all_facets": single, **any_of, **self._ranges}

    @property
    def by_facets(self) -> dict[str, Any]:
        """The same, with facets of which one is looked up at a time: all of them are in an index."""
        rough = self.rough
        pivot = rough["any_1"] or [rough["all_facets"].pop()]
        return {**rough, "pivot": pivot}

    @property
    def exact(self) -> dict[str, Any]:
        """What one member must have."""
        filters = self.filters
        return {
            "channels": list(filters.channels) or None,
            "topic_channels": [topic.channel_id for topic in filters.topics],
            "topic_keys": [topic.key for topic in filters.topics] or None,
            "creators": list(filters.creators) or None,
            "tags": list(filters.tags) or None,
            "types": list(filters.types) or None,
            "kinds": list(filters.kinds) or None,
            "states": list(filters.states) or None,
            "ungrouped": filters.ungrouped,
            "problems": filters.problems,
            **self._ranges,
        }

    @property
    def _ranges(self) -> dict[str, Any]:
        filters = self.filters
        return {
            "begins_at": filters.begins_at or _EARLIEST,
            "ends_at": filters.ends_at or _LATEST,
            "reach_at": filters.ends_at + _SHORT if filters.ends_at else _LATEST,
            "min_bytes": 0 if filters.min_bytes is None else filters.min_bytes,
            "max_bytes": MAX_BYTES if filters.max_bytes is None else filters.max_bytes,
        }


async def list_page(tx: Tx, order: ShelfOrder, *, beyond: ShelfCursor, limit: int) -> list[ShelfRow]:
    """Return the rows beyond a place."""
    return await tx.all(ShelfRow, _PAGES[order], limit=limit, **beyond._asdict())


async def walk(
    tx: Tx, search: ShelfSearch, order: ShelfOrder, *, beyond: ShelfCursor, max_rows: int, limit: int
) -> Walk:
    """Look at so many rows beyond a place."""
    found = await tx.all(_Step, _WALKS[order], walk=max_rows, limit=limit, **search.rough, **beyond._asdict())
    return _walked(found, max_rows, limit)


async def walk_spread(tx: Tx, search: ShelfSearch, *, beyond: ShelfCursor, max_rows: int, limit: int) -> Walk:
    """Look at rows after the last day of the filters that have members before it, the newest first."""
    wanted = {"walk": max_rows, "limit": limit}
    found = await tx.all(_Step, Q["walk_spread"], **wanted, **search.rough, **beyond._asdict())
    return _walked(found, max_rows, limit)


async def walk_facets(
    tx: Tx,
    search: ShelfSearch,
    facets: Sequence[int],
    order: DateOrder,
    *,
    beyond: ShelfCursor,
    max_rows: int,
    limit: int,
) -> Walk:
    """Look at so many rows beyond a place that have one of some facets."""
    wanted = {"facets": list(facets), "walk": max_rows, "limit": limit}
    found = await tx.all(_Step, _FACET_WALKS[order], **wanted, **search.rough, **beyond._asdict())
    return _walked(found, max_rows, limit)


async def find_all(
    tx: Tx, search: ShelfSearch, order: ShelfOrder, *, beyond: ShelfCursor, limit: int
) -> list[RowCandidate]:
    """Return what may match of all rows beyond a place: what the filters name is found first, then sorted."""
    wanted = {"limit": limit, **beyond._asdict()}
    await tx.execute(Q["forbid_full_scans"])
    if search.is_one_facet and search.terms[0].dated:
        facets, begins_at = list(search.terms[0].facets), search.rough["begins_at"]
        found = await tx.all(RowCandidate, _LISTED[order], **wanted, facets=facets, begins_at=begins_at)
    elif search.terms:
        found = await tx.all(RowCandidate, _FOUND[order], **wanted, **search.by_facets)
    else:
        found = await tx.all(RowCandidate, _RANGES[order], **wanted, **search.rough)
    await tx.execute(Q["allow_full_scans"])
    return found


async def list_matching(tx: Tx, search: ShelfSearch, ids: Sequence[UUID]) -> dict[UUID, ShelfRow]:
    """Return those of the rows of which one member matches all filters."""
    if not ids:
        return {}
    rows = await tx.all(ShelfRow, Q["list_matching"], ids=list(ids), **search.exact)
    return {row.id: row for row in rows}


async def list_matching_items(tx: Tx, search: ShelfSearch, ids: Sequence[UUID]) -> set[UUID]:
    """Return those of the items that match all filters themselves."""
    return set(await tx.column(Q["list_matching_items"], ids=list(ids), **search.exact)) if ids else set()


async def count_facets(tx: Tx, facets: Sequence[int], *, cap: int) -> Mapping[int, int]:
    """Return how many rows have each of some facets, up to a cap."""
    rows = await tx.all(_FacetCount, Q["count_facets"], facets=list(facets), cap=cap)
    return {row.facet: row.found for row in rows}


async def count_matching(tx: Tx, search: ShelfSearch, *, cap: int, limit_ms: int) -> int | None:
    """Return how many rows match, up to a cap; nothing if that takes too long."""
    if search.filters == ShelfFilters():
        return await tx.value(Q["count_rows"], cap=cap)
    query = Q["count_found"] if search.terms else Q["count_ranges"]
    rough = search.by_facets if search.terms else search.rough
    try:
        async with tx.connection.transaction():
            await tx.execute(Q["forbid_full_scans"])
            await tx.value(Q["limit_time"], limit_ms=limit_ms)
            found: int = await tx.value(query, cap=cap, **{**rough, **search.exact})
            await tx.execute(Q["allow_full_scans"])
            await tx.execute(Q["unlimit_time"])
    except psycopg.errors.QueryCanceled:
        return None
    return found


class _FacetCount(NamedTuple):
    facet: int
    found: int


def _walked(steps: Sequence[_Step], max_rows: int, limit: int) -> Walk:
    found = [RowCandidate(step.id, step.key) for step in steps if step.id is not None]
    return Walk(found, to_the_end=steps[0].walked < max_rows and len(found) < limit)
