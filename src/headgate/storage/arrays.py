"""Lists as PostgreSQL reads them, written in one go.

Statements for the set take their rows as arrays, a column each. The driver writes an array element by
element, which for a page of messages takes as long as the server takes to store it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from psycopg.abc import Buffer
from psycopg.types.array import ListDumper

_BETWEEN = "\x00"
"""No text that can be stored contains it."""

_TEXT_OF: dict[type, Callable[[Any], str] | None] = {
    str: None,
    UUID: attrgetter("hex"),
    datetime: str,
    int: str,
    bool: str,
}


class QuickListDumper(ListDumper):
    """Writes flat lists of the types that our statements take; all others as the driver does."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        written = _write_flat(obj)
        return super().dump(obj) if written is None else written


def _write_flat(values: list[Any]) -> bytes | None:
    """Return the array in PostgreSQL's notation, every element quoted; None for what is not so simple."""
    kinds = set(map(type, values))
    if len(kinds) != 1 or (kind := kinds.pop()) not in _TEXT_OF:
        return None
    to_text = _TEXT_OF[kind]
    text = _BETWEEN.join(values if to_text is None else map(to_text, values))
    if kind is str:
        if text.count(_BETWEEN) != len(values) - 1:
            return None
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'{{"{text.replace(_BETWEEN, chr(34) + "," + chr(34))}"}}'.encode()
