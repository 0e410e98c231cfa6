"""Filters that are measured: selective and not, alone and together, by date and in other orders."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from headgate.dev.bench.library.library_plan import (
    CHANNELS,
    OLD_CHANNELS,
    channel_id,
    creator_name,
    tag_name,
)
from headgate.domain.library.shelf_filters import ShelfView, parse_view

BIG, MIDDLE, OLD = 0, 40, CHANNELS - OLD_CHANNELS
"""The largest channel, one of few items, and the largest of those whose items are all old."""


@dataclass(frozen=True)
class FilterCase:
    """A view to be measured."""

    name: str
    query: str
    one_by_date: bool = False
    """One filter in the order of dates: the way that is taken most often, and has the strictest bound."""

    @property
    def view(self) -> ShelfView:
        return parse_view(self.query)


def _query(*pairs: tuple[str, object]) -> str:
    return urlencode([(name, str(value)) for name, value in pairs])


_BIG = ("channel", channel_id(BIG))
_MIDDLE = ("channel", channel_id(MIDDLE))
_OLD = ("channel", channel_id(OLD))
_COMMON_TAG, _RARE_TAG = ("tag", tag_name(0)), ("tag", tag_name(390))
_CREATOR, _RARE_CREATOR = ("creator", creator_name(0)), ("creator", creator_name(1900))
_BY_NAME, _BY_SIZE, _OLDEST = ("sort", "name"), ("sort", "size"), ("sort", "oldest")

CASES = (
    FilterCase("large channel", _query(_BIG), one_by_date=True),
    FilterCase("small channel", _query(_MIDDLE), one_by_date=True),
    FilterCase("channel whose items are all old", _query(_OLD), one_by_date=True),
    FilterCase("common tag", _query(_COMMON_TAG), one_by_date=True),
    FilterCase("rare tag, oldest first", _query(_RARE_TAG, _OLDEST), one_by_date=True),
    FilterCase("creator", _query(_CREATOR), one_by_date=True),
    FilterCase("topic", _query(("topic", f"{channel_id(10)}/topic-3")), one_by_date=True),
    FilterCase("large channel by name", _query(_BIG, _BY_NAME)),
    FilterCase("old channel by name", _query(_OLD, _BY_NAME)),
    FilterCase("old channel by size", _query(_OLD, _BY_SIZE)),
    FilterCase("creator by name", _query(_CREATOR, _BY_NAME)),
    FilterCase("rare creator by name", _query(_RARE_CREATOR, _BY_NAME)),
    FilterCase("common tag by size", _query(_COMMON_TAG, _BY_SIZE)),
    FilterCase("kind", _query(("kind", "clip"))),
    FilterCase("type by name", _query(("type", "7z"), _BY_NAME)),
    FilterCase("problems", _query(("problems", 1))),
    FilterCase("problems by size", _query(("problems", 1), _BY_SIZE)),
    FilterCase("channel and tag", _query(_BIG, _COMMON_TAG)),
    FilterCase("two tags", _query(_COMMON_TAG, ("tag", tag_name(1)))),
    FilterCase("large channel and rare creator", _query(_BIG, _RARE_CREATOR)),
    FilterCase("old channel and tag", _query(_OLD, _COMMON_TAG)),
    FilterCase("old channel and kind by name", _query(_OLD, ("kind", "clip"), _BY_NAME)),
    FilterCase("large channel and creator by name", _query(_BIG, _CREATOR, _BY_NAME)),
    FilterCase("state and type", _query(("state", "dropped"), ("type", "pdf"))),
    FilterCase(
        "tag, kind and type by name", _query(_COMMON_TAG, ("kind", "package"), ("type", "7z"), _BY_NAME)
    ),
    FilterCase("never together", _query(_MIDDLE, _RARE_TAG, _RARE_CREATOR)),
    FilterCase("a month", _query(("from", "2023-03-01"), ("to", "2023-03-31"))),
    FilterCase("a month by name", _query(("from", "2023-03-01"), ("to", "2023-03-31"), _BY_NAME)),
    FilterCase("channel in its first year", _query(_BIG, ("to", "2022-12-31"))),
    FilterCase("very large", _query(("min_size", "20 GB"))),
    FilterCase("very large by name", _query(("min_size", "5 GB"), _BY_NAME)),
)
