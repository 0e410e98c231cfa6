"""The library's filters and sorts in words, and filters as chips that can be removed one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode
from uuid import UUID

from headgate.domain.library.shelf_filters import (
    FIELDS,
    ShelfSort,
    ShelfState,
    ShelfView,
    TopicName,
    view_pairs,
)
from headgate.domain.words.times import size_text

_STATES: dict[ShelfState, str] = {
    "stored": "Stored",
    "waiting": "Waiting to be fetched",
    "partial": "Partly stored",
    "listed": "Listed only",
    "dropped": "Files dropped",
}
_FLAGS = {"ungrouped": "In no group", "problems": "With problems"}
_SORTS: dict[ShelfSort, str] = {
    "newest": "Newest",
    "oldest": "Oldest",
    "name": "Name",
    "size": "Largest",
    "smallest": "Smallest",
}


@dataclass(frozen=True)
class FilterNames:
    """What the ids and keys in filters are called."""

    channels: Mapping[UUID, str] = field(default_factory=dict[UUID, str])
    topics: Mapping[TopicName, str] = field(default_factory=dict[TopicName, str])
    creators: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class FilterChip:
    """One filter in words, and the view without it."""

    field: str
    """As in an address: `channel`, `tag`."""
    value: str
    label: str
    query: str
    """Of the same view without this filter."""


def state_text(state: ShelfState) -> str:
    return _STATES[state]


def sort_text(sort: ShelfSort) -> str:
    return _SORTS[sort]


def list_chips(view: ShelfView, names: FilterNames) -> list[FilterChip]:
    """Return the filters of a view, each with the view that is left when it is removed."""
    pairs = view_pairs(view)
    return [
        FilterChip(name, value, _label(name, value, names), urlencode(pairs[:place] + pairs[place + 1 :]))
        for place, (name, value) in enumerate(pairs)
        if name in FIELDS
    ]


def _label(name: str, value: str, names: FilterNames) -> str:
    match name:
        case "channel":
            return names.channels.get(UUID(value), "A removed channel")
        case "topic":
            channel, _, key = value.partition("/")
            return f"Topic: {names.topics.get(TopicName(UUID(channel), key), key)}"
        case "creator":
            return f"By {names.creators.get(value, value)}"
        case "tag":
            return f"#{names.tags.get(value, value)}"
        case "min_size" | "max_size":
            return f"{'At least' if name == 'min_size' else 'At most'} {size_text(int(value))}"
        case "from" | "to":
            return f"{name.capitalize()} {value}"
        case _:
            return _plain(name, value)


def _plain(name: str, value: str) -> str:
    if name in _FLAGS:
        return _FLAGS[name]
    if name == "state":
        return next(text for state, text in _STATES.items() if state == value)
    return f".{value}" if name == "type" else f"{value.capitalize()}s"
