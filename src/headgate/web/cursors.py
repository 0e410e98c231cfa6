"""Pages of a list: cursors as they stand in addresses, opaque to the reader and refused if damaged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import quote, unquote
from uuid import UUID

from fastapi import HTTPException

from headgate.domain.library.shelf_filters import ShelfSort
from headgate.domain.text import is_whole
from headgate.storage.shelf.rows import ShelfCursor

Row = TypeVar("Row")
Place = TypeVar("Place")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def cut_page(found: list[Row], limit: int, cursor_of: Callable[[Row], str]) -> tuple[list[Row], str | None]:
    """Return a page of what was found with one row more than its length, and the cursor of the next page."""
    shown = found[:limit]
    return shown, cursor_of(shown[-1]) if len(found) > limit else None


def time_cursor(at: datetime, row_id: UUID) -> str:
    """Return the cursor of a list in order of time, exact to the microsecond."""
    return f"{(at - _EPOCH) // _MICROSECOND}.{row_id.hex}"


def read_time_cursor(cursor: str, place: Callable[[datetime, UUID], Place]) -> Place | None:
    """Return the place that a cursor means; an empty cursor means the start of the list."""
    if not cursor:
        return None
    micros, _, identity = cursor.partition(".")
    try:
        return place(_EPOCH + int(micros) * _MICROSECOND, UUID(identity))
    except (ValueError, OverflowError):
        raise _unknown() from None


def title_cursor(title: str, row_id: UUID) -> str:
    """Return the cursor of a list in order of titles."""
    return f"{row_id.hex}.{quote(title, safe='')}"


def read_title_cursor(cursor: str, place: Callable[[str, UUID], Place]) -> Place | None:
    """Return the place that a cursor means; an empty cursor means the start of the list."""
    if not cursor:
        return None
    identity, _, quoted = cursor.partition(".")
    title = unquote(quoted)
    if "\x00" in title:
        raise _unknown()
    try:
        return place(title, UUID(identity))
    except ValueError:
        raise _unknown() from None


def shelf_cursor(place: ShelfCursor | None) -> str | None:
    """Return the cursor of a place in the library, by whatever it is sorted."""
    if place is None:
        return None
    if isinstance(place.key, datetime):
        return time_cursor(place.key, place.id)
    return title_cursor(place.key, place.id) if isinstance(place.key, str) else f"{place.key}.{place.id.hex}"


def read_shelf_cursor(cursor: str, sort: ShelfSort) -> ShelfCursor | None:
    """Return the place that a cursor means in an order; an empty cursor means the start of the list."""
    if not cursor:
        return None
    if sort == "name":
        return read_title_cursor(cursor, ShelfCursor)
    if sort in {"newest", "oldest"}:
        return read_time_cursor(cursor, ShelfCursor)
    size, _, identity = cursor.partition(".")
    try:
        place = ShelfCursor(int(size), UUID(identity))
    except ValueError:
        raise _unknown() from None
    if not is_whole(int(size)):
        raise _unknown()
    return place


def _unknown() -> HTTPException:
    return HTTPException(400, "This place in the list is not known.")
