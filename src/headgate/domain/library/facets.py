"""Filters as numbers that the shelf is indexed by.

Two things can have one number, and a group has the numbers of all its members: what is found by numbers is
checked again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from headgate.domain.library.shelf_filters import STATES, ShelfFilters

FacetKind = Literal["channel", "topic", "creator", "tag", "type", "kind", "state", "ungrouped", "problem"]


@dataclass(frozen=True)
class FacetTerm:
    """Facets of which a row must have at least one."""

    facets: tuple[int, ...]
    dated: bool
    """Rows with any of these facets are also listed by date."""


def facet_number(kind: FacetKind, key: str) -> int:
    """Return the number of a facet, as `headgate_facet` does in the database."""
    digest = sha256(f"{kind}:{key}".encode()).digest()
    return int.from_bytes(digest[:4], "big", signed=True)


def facet_terms(filters: ShelfFilters) -> tuple[FacetTerm, ...]:
    """Return what a row must have; a row that has all of it may match, and no other row does."""
    terms = [
        _term("topic", filters.topics, dated=True),
        _term("channel", filters.channels, dated=True),
        _term("creator", filters.creators, dated=True),
        *(_term("tag", (tag,), dated=True) for tag in filters.tags),
        _term("type", filters.types),
        _term("state", filters.states),
        _term("kind", filters.kinds),
        _term("problem", ("",) if filters.problems else ()),
        _term("ungrouped", ("",) if filters.ungrouped else ()),
    ]
    return tuple(term for term in terms if term.facets)


def lasting_facets(facets: Iterable[int], dated: Iterable[int]) -> tuple[int, ...]:
    """Return a row's facets without state and problem, which change with every download.

    Dated facets all stay: one of them may share its number with a state.
    """
    return tuple(sorted({*dated, *(set(facets) - _PASSING)}))


def _term(kind: FacetKind, keys: tuple[object, ...], *, dated: bool = False) -> FacetTerm:
    return FacetTerm(tuple(facet_number(kind, str(key)) for key in keys), dated)


_PASSING = {facet_number("problem", ""), *(facet_number("state", state) for state in STATES)}
