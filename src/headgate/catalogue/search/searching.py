"""Search in the library: slice by slice, the newest first, until enough is found or time is up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from uuid import UUID

from headgate.catalogue.search.filtering import search_filters
from headgate.catalogue.search.matches import Match, explain_matches
from headgate.catalogue.search.places import SearchPlace
from headgate.domain.library.search.search_documents import Term, parse_terms
from headgate.domain.library.search.spelling import can_be_misspelt, words_meant
from headgate.domain.library.shelf_filters import NO_FILTERS, ShelfFilters
from headgate.kernel.clock import Clock
from headgate.storage.database import Tx
from headgate.storage.search import words
from headgate.storage.search.documents import Slice, list_slices
from headgate.storage.search.finding import FoundDocument, list_rows, list_shown_before, search_slices
from headgate.storage.shelf.rows import ShelfSearch, list_matching, list_matching_items

ENOUGH = 1000
"""Rows among which the best are chosen."""
BUDGET_S = 0.15
GROWTH = 4
"""So many more slices with each statement: a rare word costs few round trips, a common one a single slice."""


@dataclass(frozen=True)
class Hit:
    """A row of the library in which something matches."""

    shelf_id: UUID
    item_id: UUID | None
    """The item that matches; None where it is the name of a group."""
    group_id: UUID | None
    name: str
    rank: int
    """2: all words are in names, creators or tags; 1: words there begin with them; 0: they are elsewhere."""
    sort_at: datetime
    matches: tuple[Match, ...] = ()


@dataclass(frozen=True)
class SearchPage:
    """The next hits, the best first and the newest of them first."""

    hits: tuple[Hit, ...]
    found: int
    """Rows found so far back; more than the page shows."""
    searched_back_to: datetime | None
    """None: the whole library was searched."""
    meant: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What was searched for instead of words that were probably typed wrong."""
    following: SearchPlace | None = None


Order = tuple[int, float, str]
"""Hits by rank and time, both falling, and by the row's id."""


@dataclass(frozen=True)
class _Window:
    """What was found in slices that were searched together."""

    rows: list[FoundDocument]
    """The best document of each row, in the order in which they are shown."""
    newest: int
    oldest: int
    older: Slice | None
    """The next slice that was not searched."""
    since: datetime | None


async def search_library(
    tx: Tx,
    typed: str,
    *,
    clock: Clock,
    filters: ShelfFilters = NO_FILTERS,
    limit: int = 50,
    after: SearchPlace | None = None,
) -> SearchPage:
    """Return rows of the library in which all words are found, and what matched in each."""
    terms = parse_terms(typed)
    slices = await list_slices(tx)
    if after and after.corrected:
        terms = await _correct(tx, terms)
    window = await _search_window(tx, slices, terms, filters, clock=clock, after=after)
    if not window.rows and window.older is None and after is None:
        corrected = await _correct(tx, terms)
        if corrected != terms:
            terms = corrected
            window = await _search_window(tx, slices, terms, filters, clock=clock, after=after)
    shown = _after(window.rows, after)[:limit]
    following = _following(window, shown, limit, terms, after)
    return SearchPage(
        hits=tuple(await explain_matches(tx, await _describe(tx, shown), terms)),
        found=len(window.rows),
        searched_back_to=window.since if window.older else None,
        meant={term.word: term.meant for term in terms if term.meant},
        following=following,
    )


async def _search_window(
    tx: Tx,
    slices: Sequence[Slice],
    terms: Sequence[Term],
    filters: ShelfFilters,
    *,
    clock: Clock,
    after: SearchPlace | None,
) -> _Window:
    wanted = search_filters(filters)
    newest = after.newest if after else slices[0].number if slices else 0
    waiting = [one for one in slices if one.number <= newest]
    bound = after.oldest if after else None
    searched: list[Slice] = []
    rows: dict[str, FoundDocument] = {}
    step, began = 1, clock.monotonic()
    while waiting and (waiting[0].number >= bound if bound is not None else len(rows) < ENOUGH):
        batch, waiting = waiting[:step], waiting[step:]
        numbers = [one.number for one in batch if bound is None or one.number >= bound]
        found = await search_slices(tx, numbers, terms, wanted, limit=ENOUGH)
        _fold(rows, await _list_matching(tx, found, filters))
        searched += batch
        spent = clock.monotonic() - began
        if bound is None and spent >= BUDGET_S:
            break
        step = _next_step(step, searched=len(searched), spent_s=spent, rows=len(rows))
    if after and after.newest < slices[0].number:
        newer = [one.number for one in slices if one.number > after.newest]
        before = await list_shown_before(tx, list(rows), newer, terms, wanted)
        for row_id in {one.shelf_id for one in await _list_matching(tx, before, filters)}:
            del rows[row_id]
    oldest = bound if bound is not None else searched[-1].number if searched else newest
    older = next((one for one in slices if one.number < oldest), None)
    since = next((one.since for one in reversed(slices) if one.number >= oldest), None)
    return _Window(sorted(rows.values(), key=_order), newest, oldest, older, since)


def _next_step(step: int, *, searched: int, spent_s: float, rows: int) -> int:
    """Return how many slices the next statement searches: more each time, but not beyond what is needed."""
    in_time = (BUDGET_S - spent_s) * searched / max(spent_s, 1e-6)
    for_enough = (ENOUGH - rows) * searched / max(rows, 1)
    return max(1, min(step * GROWTH, int(in_time), ceil(for_enough)))


def _fold(rows: dict[str, FoundDocument], found: Iterable[FoundDocument]) -> None:
    """Keep the best document of each row."""
    for one in found:
        known = rows.get(one.shelf_id)
        if known is None or one.rank > known.rank:
            rows[one.shelf_id] = one


async def _list_matching(
    tx: Tx, found: Sequence[FoundDocument], filters: ShelfFilters
) -> Sequence[FoundDocument]:
    """Return what matches all filters with one item.

    A group that was found by its name needs a member that does. Items are found by all but their state, which
    was only looked for in their rows.
    """
    if filters == NO_FILTERS:
        return found
    search = ShelfSearch.of(filters)
    groups = await list_matching(tx, search, [UUID(one.id) for one in found if one.is_group])
    matching = {str(group_id) for group_id in groups}
    items = [one.id for one in found if not one.is_group]
    if filters.states or filters.problems:
        matching.update(map(str, await list_matching_items(tx, search, [UUID(one) for one in items])))
    else:
        matching.update(items)
    return [one for one in found if one.id in matching]


async def _describe(tx: Tx, found: Sequence[FoundDocument]) -> list[Hit]:
    rows = await list_rows(tx, [UUID(one.shelf_id) for one in found])
    hits: list[Hit] = []
    for one in found:
        row = rows.get(UUID(one.shelf_id))
        if row is not None:
            item_id = None if one.is_group else UUID(one.id)
            hits.append(Hit(row.id, item_id, row.group_id, row.name, one.rank, row.sort_at))
    return hits


def _order(one: FoundDocument) -> Order:
    return (-one.rank, -one.sort_s, one.shelf_id)


def _after(rows: Sequence[FoundDocument], after: SearchPlace | None) -> list[FoundDocument]:
    if after is None or after.last is None:
        return list(rows)
    return [row for row in rows if _order(row) > after.last]


def _following(
    window: _Window,
    shown: Sequence[FoundDocument],
    limit: int,
    terms: Sequence[Term],
    after: SearchPlace | None,
) -> SearchPlace | None:
    corrected = any(term.meant for term in terms)
    if len(_after(window.rows, after)) > limit:
        return SearchPlace(window.newest, window.oldest, _order(shown[-1]), corrected=corrected)
    if window.older is not None:
        return SearchPlace(window.older.number, None, None, corrected=corrected)
    return None


async def _correct(tx: Tx, terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms with what may be meant by those that no name, creator or tag has."""
    typed = [term.word for term in terms if can_be_misspelt(term.word)]
    known = set(await words.list_known(tx, typed)) if typed else set[str]()
    unknown = [word for word in typed if word not in known]
    meant = {word: words_meant(word, await words.list_alike(tx, word)) for word in unknown}
    return tuple(term.means(meant.get(term.word, ())) for term in terms)
