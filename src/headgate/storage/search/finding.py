"""Finds documents in slices of the index, and the rows of the shelf that show them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.domain.library.search.search_documents import Term, names_query, slice_query
from headgate.domain.library.search.search_filters import SearchFilters
from headgate.domain.text import containing
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

MAX_PATHS = 200


class FoundDocument(NamedTuple):
    """A document that matches, and the row that shows it.

    There are many and few are shown, so ids stay texts, and the time is in seconds since 1970.
    """

    id: str
    is_group: bool
    rank: int
    """2: all words are in its name, creator or tags; 1: words there begin so; 0: they are elsewhere."""
    shelf_id: str
    sort_s: float


class FoundRow(NamedTuple):
    """A row of the shelf, as far as a hit shows it."""

    id: UUID
    group_id: UUID | None
    name: str
    sort_at: datetime


class PathInside(NamedTuple):
    """A file inside an archive."""

    id: UUID
    path: str


async def search_slices(
    tx: Tx, slices: Sequence[int], terms: Sequence[Term], filters: SearchFilters, *, limit: int
) -> list[FoundDocument]:
    """Return up to `limit` documents of each slice."""
    return await tx.all(
        FoundDocument,
        Q["search_slices"],
        slices=list(slices),
        queries=[slice_query(terms, filters.facets, number=number) for number in slices],
        whole=names_query(terms, whole=True),
        begun=names_query(terms),
        facets=["{" + ",".join(map(str, one_of)) + "}" for one_of in (*filters.facets, *filters.row_facets)],
        min_bytes=filters.min_bytes,
        max_bytes=filters.max_bytes,
        since=filters.since,
        until=filters.until,
        limit=limit,
    )


async def list_rows(tx: Tx, shelf_ids: Sequence[UUID]) -> dict[UUID, FoundRow]:
    found = await tx.all(FoundRow, Q["list_rows"], shelf_ids=list(shelf_ids))
    return {row.id: row for row in found}


async def list_inside(tx: Tx, item_ids: Sequence[UUID], words: Sequence[str]) -> list[PathInside]:
    """Return files inside archives that may have one of the words in their names."""
    patterns = [pattern for word in words if (pattern := containing(word))]
    return await tx.all(
        PathInside, Q["list_inside"], item_ids=list(item_ids), patterns=patterns, max_paths=MAX_PATHS
    )


async def list_shown_before(
    tx: Tx, shelf_ids: Sequence[str], newer: Sequence[int], terms: Sequence[Term], filters: SearchFilters
) -> list[FoundDocument]:
    """Return documents of newer slices that match and are shown by one of the rows."""
    return await tx.all(
        FoundDocument,
        Q["list_shown_before"],
        shelf_ids=list(shelf_ids),
        slices=list(newer),
        queries=[slice_query(terms, filters.facets, number=number) for number in newer],
        min_bytes=filters.min_bytes,
        max_bytes=filters.max_bytes,
        since=filters.since,
        until=filters.until,
    )
