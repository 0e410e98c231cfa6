"""The library's filters as a search applies them."""

from __future__ import annotations

from dataclasses import replace

from headgate.domain.library.facets import facet_terms
from headgate.domain.library.search.search_filters import SearchFilters
from headgate.domain.library.shelf_filters import ShelfFilters


def search_filters(filters: ShelfFilters) -> SearchFilters:
    """Return the facets and bounds that filters ask for; documents know nothing of states and problems."""
    known = replace(filters, states=(), problems=False)
    other = ShelfFilters(states=filters.states, problems=filters.problems)
    return SearchFilters(
        facets=tuple(term.facets for term in facet_terms(known)),
        row_facets=tuple(term.facets for term in facet_terms(other)),
        min_bytes=filters.min_bytes,
        max_bytes=filters.max_bytes,
        since=filters.begins_at,
        until=filters.ends_at,
    )
