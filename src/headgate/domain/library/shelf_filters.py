"""Filters and sorts of the library, and how they stand in an address.

Different fields must all match, and so must several tags. Of several channels, topics, creators, types, kinds
or states one is enough. Single items are asked: a group is listed when one of its members matches everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple, TypeVar, cast, get_args
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.domain.items import ItemKind
from headgate.domain.library.label_rules import MAX_LABEL_LENGTH, label_key
from headgate.domain.text import is_key, is_whole, storable, typed_text

ShelfState = Literal["stored", "waiting", "partial", "listed", "dropped"]
"""How much of a thing is stored; see `domain/words/shelf_words.py`."""
ShelfSort = Literal["newest", "oldest", "name", "size", "smallest"]
"""`size` begins with the largest."""
DEFAULT_SORT: ShelfSort = "newest"

KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
STATES: tuple[ShelfState, ...] = get_args(ShelfState)
SORTS: tuple[ShelfSort, ...] = get_args(ShelfSort)

MAX_VALUES = 20
"""Of one field."""
MAX_QUERY_LENGTH = 8000
MAX_BYTES = 2**63 - 1
_SIZE = re.compile(r"(?i)(\d{1,15}(?:\.\d{1,6})?)\s*([kmgtp]?)b?")
_STEPS = " kmgtp"
_TYPE = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,30}")
_YES = ("1", "true", "yes", "on")
_NO = ("0", "false", "no", "off")

Value = TypeVar("Value")


class TopicName(NamedTuple):
    """A topic of a channel, by its key there."""

    channel_id: UUID
    key: str

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.key}"


@dataclass(frozen=True)
class ShelfFilters:
    """What a person wants to see; empty fields let everything pass."""

    channels: tuple[UUID, ...] = ()
    topics: tuple[TopicName, ...] = ()
    creators: tuple[str, ...] = ()
    """Keys, as `label_key` makes them of names."""
    tags: tuple[str, ...] = ()
    """Keys; an item must have all of them."""
    types: tuple[str, ...] = ()
    kinds: tuple[ItemKind, ...] = ()
    states: tuple[ShelfState, ...] = ()
    date_from: date | None = None
    """The first day, in UTC."""
    date_to: date | None = None
    """The last day."""
    min_bytes: int | None = None
    max_bytes: int | None = None
    ungrouped: bool = False
    """Only what is in no group."""
    problems: bool = False
    """Only what has a problem."""

    @property
    def begins_at(self) -> datetime | None:
        return _midnight(self.date_from) if self.date_from else None

    @property
    def ends_at(self) -> datetime | None:
        """The end of the last day, which does not belong to it."""
        return _midnight(self.date_to + timedelta(days=1)) if self.date_to else None


NO_FILTERS = ShelfFilters()


@dataclass(frozen=True)
class ShelfView:
    """What an address of the library says: filters, words to search for, and the order."""

    filters: ShelfFilters = NO_FILTERS
    sort: ShelfSort = DEFAULT_SORT
    search: str = ""

    @property
    def query(self) -> str:
        """The view as it stands in an address, equal for equal views."""
        return urlencode(view_pairs(self))


class FieldReader(NamedTuple):
    """One way to read a field of an address."""

    attribute: str
    read: Callable[[str], object]
    many: bool = True


def parse_view(query: str) -> ShelfView:
    """Return the view that the query of an address means; what is not about views is passed over."""
    if len(query) > MAX_QUERY_LENGTH:
        raise UserError("This view has too many filters.", remedy="Remove some of them.", field="query")
    return read_view(parse_qsl(query.removeprefix("?")))


def read_view(pairs: Iterable[tuple[str, str]]) -> ShelfView:
    """Return the view that fields of an address or a form mean; empty values count as missing."""
    found: dict[str, list[object]] = {}
    sort: ShelfSort = DEFAULT_SORT
    search = ""
    for name, text in pairs:
        if name == "q":
            search = typed_text(text)
        elif not text.strip():
            continue
        elif name == "sort":
            sort = _one_of(SORTS, text, field_name="sort")
        elif name in FIELDS:
            found.setdefault(name, []).append(FIELDS[name].read(storable(text.strip())))
    return ShelfView(_filters(found), sort, search)


def view_pairs(view: ShelfView) -> list[tuple[str, str]]:
    """Return the fields of an address that say a view; defaults are left out."""
    pairs = [("q", view.search)] if view.search else []
    pairs += filter_pairs(view.filters)
    return pairs if view.sort == DEFAULT_SORT else [*pairs, ("sort", view.sort)]


def filter_pairs(filters: ShelfFilters) -> list[tuple[str, str]]:
    """Return filters as fields of an address, one pair for each value."""
    pairs: list[tuple[str, str]] = []
    for name, (attribute, _, many) in FIELDS.items():
        value = getattr(filters, attribute)
        values = value if many else () if value is None or value is False else (value,)
        pairs += [(name, "1" if one is True else str(one)) for one in values]
    return pairs


def _filters(found: dict[str, list[object]]) -> ShelfFilters:
    values: dict[str, object] = {}
    for name, read in found.items():
        attribute, _, many = FIELDS[name]
        if not many:
            # The last one counts, as in a form that is sent twice.
            values[attribute] = read[-1]
            continue
        listed = tuple(sorted(set(read), key=str))
        if len(listed) > MAX_VALUES:
            raise UserError(f"Choose at most {MAX_VALUES} of one kind.", field=name)
        values[attribute] = listed
    filters = ShelfFilters(**values)  # pyright: ignore[reportArgumentType] - each reader gives its field's type
    if filters.date_from and filters.date_to and filters.date_from > filters.date_to:
        raise UserError("The first day is after the last one.", field="to")
    if (
        filters.min_bytes is not None
        and filters.max_bytes is not None
        and filters.min_bytes > filters.max_bytes
    ):
        raise UserError("The smallest size is above the largest one.", field="max_size")
    return filters


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _one_of(known: tuple[Value, ...], text: str, *, field_name: str) -> Value:
    value = text.strip().lower()
    if value not in known:
        raise UserError(
            f"{typed_text(text)!r} is not a {field_name}.",
            remedy=f"Use one of: {', '.join(map(str, known))}.",
            field=field_name,
        )
    return cast("Value", value)


def _read_channel(text: str) -> UUID:
    return _read_id(text, "channel")


def _read_id(text: str, field_name: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise UserError(f"{typed_text(text)!r} is not the id of a channel.", field=field_name) from None


def _read_topic(text: str) -> TopicName:
    channel, _, key = text.partition("/")
    if not is_key(key):
        raise UserError(
            f"{typed_text(text)!r} is not a topic.",
            remedy="Write the channel's id, a slash and the topic's key.",
            field="topic",
        )
    return TopicName(_read_id(channel, "topic"), key)


def _read_label(field_name: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        key = label_key(typed_text(text, max_length=MAX_LABEL_LENGTH))
        if not key:
            raise UserError(f"{typed_text(text)!r} is not a {field_name}.", field=field_name)
        return key

    return read


def _read_type(text: str) -> str:
    value = text.lower().removeprefix(".")
    if not _TYPE.fullmatch(value):
        raise UserError(
            f"{typed_text(text)!r} is not a type of file.",
            remedy="Write types like zip or stl.",
            field="type",
        )
    return value


def _read_day(field_name: str) -> Callable[[str], date]:
    def read(text: str) -> date:
        try:
            day = date.fromisoformat(text)
        except ValueError:
            day = date.max
        if not 1970 <= day.year < 9999:
            raise UserError(
                f"{typed_text(text)!r} is not a day.", remedy="Write days like 2026-01-31.", field=field_name
            )
        return day

    return read


def _read_size(field_name: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        found = _SIZE.fullmatch(text)
        size = int(Decimal(found[1]) * 1000 ** _STEPS.index(found[2].lower() or " ")) if found else -1
        if size < 0 or not is_whole(size):
            raise UserError(
                f"{typed_text(text)!r} is not a size.",
                remedy="Write sizes like 500 kB or 2 GB.",
                field=field_name,
            )
        return size

    return read


def _read_choice(known: tuple[Value, ...], field_name: str) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        return _one_of(known, text, field_name=field_name)

    return read


def _read_flag(field_name: str) -> Callable[[str], bool]:
    def read(text: str) -> bool:
        return _one_of((*_YES, *_NO), text, field_name=field_name) in _YES

    return read


FIELDS: dict[str, FieldReader] = {
    "channel": FieldReader("channels", _read_channel),
    "topic": FieldReader("topics", _read_topic),
    "creator": FieldReader("creators", _read_label("creator")),
    "tag": FieldReader("tags", _read_label("tag")),
    "type": FieldReader("types", _read_type),
    "kind": FieldReader("kinds", _read_choice(KINDS, "kind")),
    "state": FieldReader("states", _read_choice(STATES, "state")),
    "from": FieldReader("date_from", _read_day("from"), many=False),
    "to": FieldReader("date_to", _read_day("to"), many=False),
    "min_size": FieldReader("min_bytes", _read_size("min_size"), many=False),
    "max_size": FieldReader("max_bytes", _read_size("max_size"), many=False),
    "ungrouped": FieldReader("ungrouped", _read_flag("ungrouped"), many=False),
    "problems": FieldReader("problems", _read_flag("problems"), many=False),
}
"""The fields of an address, in the order in which they are written and shown."""
