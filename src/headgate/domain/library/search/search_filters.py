"""What a hit of a search must have besides its words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class SearchFilters:
    """Facets and bounds, checked on the item that matches; where a group's name matches, on its row."""

    facets: tuple[tuple[int, ...], ...] = ()
    """One of each tuple is wanted; of channel, topic, creator, tag, type, kind, `ungrouped`."""
    row_facets: tuple[tuple[int, ...], ...] = ()
    """The same of state and problem, which only the shelf knows."""
    min_bytes: int | None = None
    max_bytes: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Before this moment."""
