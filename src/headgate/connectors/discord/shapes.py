"""Reading Discord's JSON: what must be there is checked, what may be missing has a default."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from headgate.connectors.discord.errors import NotUnderstood

Shape = Mapping[str, object]

_MAX_ID = 2**63


def as_shape(value: object) -> Shape:
    """Return an object of Discord's."""
    if not isinstance(value, dict):
        raise NotUnderstood(f"Discord sent {type(value).__name__} where an object belongs")
    return cast("Shape", value)


def as_shapes(value: object) -> list[Shape]:
    """Return a list of objects; none where there is no list."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise NotUnderstood(f"Discord sent {type(value).__name__} where a list belongs")
    return [as_shape(one) for one in cast("list[object]", value)]


def as_id(value: object) -> int:
    """Return a snowflake: Discord writes them as text, because JSON numbers lose digits."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and int(value) < _MAX_ID:
        return int(value)
    raise NotUnderstood(f"{value!r} is no id")


def as_ids(value: object) -> list[int]:
    """Return a list of ids; none where there is no list."""
    return [as_id(one) for one in cast("list[object]", value)] if isinstance(value, list) else []


def id_in(shape: Shape, name: str = "id") -> int:
    return as_id(shape.get(name))


def optional_id(shape: Shape, name: str) -> int | None:
    value = shape.get(name)
    return None if value is None else as_id(value)


def text_in(shape: Shape, name: str) -> str:
    value = shape.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise NotUnderstood(f"{name} is {type(value).__name__}, not text")
    # PostgreSQL stores no zero bytes.
    return value.replace("\x00", "")


def number_in(shape: Shape, name: str) -> int:
    value = shape.get(name)
    if value is None:
        return 0
    if not isinstance(value, int):
        raise NotUnderstood(f"{name} is {type(value).__name__}, not a number")
    return value


def bits_in(shape: Shape, name: str) -> int:
    """Return a set of rights: text since version 8 of the API."""
    value = shape.get(name)
    return int(value) if isinstance(value, str) and value.isdecimal() else number_in(shape, name)


def flag_in(shape: Shape, name: str) -> bool:
    return shape.get(name) is True


def shape_in(shape: Shape, name: str) -> Shape:
    """Return an object inside another; an empty one if it is missing."""
    value = shape.get(name)
    return {} if value is None else as_shape(value)


def time_in(shape: Shape, name: str) -> datetime | None:
    written = text_in(shape, name)
    if not written:
        return None
    try:
        at = datetime.fromisoformat(written)
    except ValueError as error:
        raise NotUnderstood(f"{name} is no time: {written!r}") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)
