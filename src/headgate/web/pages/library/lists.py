"""What the library's page lists: rows in the order of a view, or what a search found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from headgate.catalogue.search.places import read_place
from headgate.catalogue.search.searching import Hit, search_library
from headgate.catalogue.sets import SetDetails, show_sets
from headgate.catalogue.shelf.listing import ListedRow, list_rows, list_shelf, place_of
from headgate.catalogue.shelf.members import ShelfMember, list_members
from headgate.domain.library.shelf_filters import ShelfView
from headgate.domain.words.match_words import match_text
from headgate.kernel.clock import Clock
from headgate.storage.database import Tx
from headgate.web.cursors import read_shelf_cursor, shelf_cursor

PAGE_LENGTH = 60
_PLAIN_MATCHES = ("name", "group")
"""Fields that a row shows anyway."""


@dataclass(frozen=True)
class ListPlace:
    """The part of a view that a page shows."""

    after: str = ""
    before: str = ""

    @property
    def is_first(self) -> bool:
        return not (self.after or self.before)


@dataclass(frozen=True)
class ShownRow:
    """A row with its members, as the page has it."""

    row: ListedRow
    members: Sequence[ShelfMember]
    sets: Mapping[UUID, SetDetails]
    """Of items that consist of several volumes."""
    matches: Sequence[str] = ()
    """What a search found in it, beside its name."""

    @property
    def version(self) -> str:
        """Changes whenever anything that the row shows changes."""
        return sha256(repr((self.row, self.members, self.sets)).encode()).hexdigest()[:12]

    @property
    def opens(self) -> bool:
        """Whether there is something behind a chevron: the members of a group, or copies."""
        return self.row.group_id is not None or self.row.member_count > 1


@dataclass(frozen=True)
class ShownList:
    """Some rows, and where the pages around them begin."""

    rows: list[ShownRow]
    next: str = ""
    previous: str = ""
    top: str = ""
    """The place of the first row, in orders where new rows come above it."""
    found: int | None = None
    """Rows that a search found so far back."""
    searched_back_to: datetime | None = None
    meant: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


async def load_list(tx: Tx, view: ShelfView, place: ListPlace, *, clock: Clock) -> ShownList:
    """Return a page of a view."""
    if view.search:
        return await _search(tx, view, place, clock=clock)
    page = await list_shelf(
        tx,
        view,
        after=read_shelf_cursor(place.after, view.sort),
        before=read_shelf_cursor(place.before, view.sort),
        limit=PAGE_LENGTH,
    )
    top = place_of(page.rows[0], view.sort) if page.rows and view.sort == "newest" else None
    return ShownList(
        rows=await show_rows(tx, page.rows),
        next=shelf_cursor(page.next) or "",
        previous=shelf_cursor(page.previous) or "",
        top=shelf_cursor(top) or "",
    )


async def show_rows(
    tx: Tx, rows: Sequence[ListedRow], matches: Mapping[UUID, Sequence[str]] | None = None
) -> list[ShownRow]:
    """Return rows with their members, which are all asked for at once."""
    members = await list_members(tx, [row.id for row in rows if row.group_id or row.member_count > 1])
    items = [row.item_id for row in rows if not row.group_id]
    items += [member.id for behind in members.values() for member in behind]
    sets = await show_sets(tx, items)
    return [
        ShownRow(
            row,
            behind := members.get(row.id, []),
            {one: sets[one] for one in (row.item_id, *(member.id for member in behind)) if one in sets},
            (matches or {}).get(row.id, ()),
        )
        for row in rows
    ]


async def _search(tx: Tx, view: ShelfView, place: ListPlace, *, clock: Clock) -> ShownList:
    page = await search_library(
        tx,
        view.search,
        clock=clock,
        filters=view.filters,
        limit=PAGE_LENGTH,
        after=read_place(place.after),
    )
    rows = await list_rows(tx, [hit.shelf_id for hit in page.hits])
    return ShownList(
        rows=await show_rows(tx, rows, {hit.shelf_id: _found_in(hit) for hit in page.hits}),
        next=str(page.following) if page.following else "",
        found=page.found,
        searched_back_to=page.searched_back_to,
        meant=page.meant,
    )


def _found_in(hit: Hit) -> list[str]:
    return [match_text(match.field, match.text) for match in hit.matches if match.field not in _PLAIN_MATCHES]
