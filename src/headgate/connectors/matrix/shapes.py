"""Reading JSON that nobody has checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from headgate.domain.text import storable

Shape: TypeAlias = dict[str, object]


def part(shape: Shape, *path: str) -> Shape:
    """Return the object at a path; an empty one if it is not there."""
    for name in path:
        found = shape.get(name)
        if not isinstance(found, dict):
            return {}
        shape = cast("Shape", found)
    return shape


def parts(shape: Shape, name: str) -> Iterator[Shape]:
    """Yield the objects of a list."""
    found = shape.get(name)
    for one in cast("list[object]", found) if isinstance(found, list) else ():
        if isinstance(one, dict):
            yield cast("Shape", one)


def texts(shape: Shape, name: str) -> list[str]:
    """Return the texts of a list."""
    found = shape.get(name)
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return [one for one in listed if isinstance(one, str)]


def text(shape: Shape, name: str) -> str:
    """Return a text that can be stored; an empty one if it is none."""
    found = shape.get(name)
    return storable(found) if isinstance(found, str) else ""


def whole(shape: Shape, name: str) -> int | None:
    """Return a whole number; none if it is something else."""
    found = shape.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
