"""Lists as PostgreSQL reads them, written in one go.

Statements for the set take their rows as arrays, a column each. The driver writes an array element by
element, which for a page of messages takes as long as the server takes to store it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from psycopg.abc import Buffer
from psycopg.adapt import PyFormat
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


def columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Return rows as the arrays of their fields."""
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


class QuickListDumper(ListDumper):
    """Writes flat lists of the types that our statements take; all others as the driver does."""

    def _find_list_element(self, L: list[Any], format: PyFormat) -> Any:  # noqa: A002, N803 - the driver's names
        """Return what tells the type of all elements; the driver would go through them one by one."""
        kinds = set(map(type, L))
        if len(kinds) != 1 or (kind := kinds.pop()) not in _TEXT_OF:
            return super()._find_list_element(L, format)
        if kind is not int:
            return L[0]
        largest: int = max(L)
        return max(largest, -min(L) - 1)

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
