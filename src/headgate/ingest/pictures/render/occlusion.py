"""Darker creases: how much of the sky the neighbourhood of a pixel hides."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np

from headgate.ingest.pictures.render.arrays import Floats
from headgate.ingest.pictures.render.grid import Grid

_TURNS = 28
_GOLDEN_ANGLE = pi * (3 - sqrt(5))
_REACH = 0.11
"""In sides of the picture."""
_STRENGTH = 2.1


def openness(grid: Grid, *, pixel: float) -> Floats:
    """Return how open each pixel of a grid is, from 0 to 1; `pixel` is how wide one is in the model."""
    return grid.spread(1 - _hidden(grid, pixel)[grid.seen])


def _hidden(grid: Grid, pixel: float) -> Floats:
    """Return the share of directions in which something near stands above the surface."""
    side = len(grid.places)
    # Axis by axis: sums along an axis of three are slow.
    places, normals = np.moveaxis(grid.places, -1, 0).copy(), np.moveaxis(grid.normals, -1, 0).copy()
    total = np.zeros((side, side), dtype=np.float32)
    reach = (2 * _REACH * side * pixel) ** 2
    for turn in range(_TURNS):
        distance = _REACH * side * ((turn + 0.5) / _TURNS) ** 1.5
        angle = turn * _GOLDEN_ANGLE
        rows, columns = round(distance * sin(angle)), round(distance * cos(angle))
        if (rows, columns) == (0, 0):
            continue
        (top, below), (left, right) = _overlap(side, rows), _overlap(side, columns)
        squares = np.full_like(total[top, left], 1e-9)
        rise = np.zeros_like(squares)
        for place, normal in zip(places, normals, strict=True):
            towards = place[below, right] - place[top, left]
            squares += towards * towards
            rise += towards * normal[top, left]
        rise /= np.sqrt(squares)
        near = np.maximum(1 - squares / reach, 0)
        total[top, left] += np.maximum(rise - 0.08, 0) * near
    return np.minimum(total * (_STRENGTH / _TURNS), 0.85)


def _overlap(side: int, shift: int) -> tuple[slice, slice]:
    """Return the slices of a line that lie on each other when it is shifted."""
    if shift >= 0:
        return slice(0, side - shift), slice(shift, side)
    return slice(-shift, side), slice(0, side + shift)
