"""Darker creases: how much of the sky the neighbourhood of a pixel hides."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np

from headgate.ingest.pictures.render.arrays import Floats
from headgate.ingest.pictures.render.surface import Surface

_TURNS = 28
_GOLDEN_ANGLE = pi * (3 - sqrt(5))
_REACH = 0.11
"""In sides of the picture."""
_STRENGTH = 2.1


def openness(surface: Surface, *, step: int) -> Floats:
    """Return how open each pixel is, from 0 to 1, on a grid of every `step`-th pixel."""
    size = surface.raster.size_px
    grid = np.arange(step // 2, size, step)
    pixels = (grid[:, None] * size + grid[None]).ravel()
    seen = surface.raster.ids[pixels] >= 0
    places = np.full((len(pixels), 3), -1e9, dtype=np.float32)
    normals = np.zeros_like(places)
    places[seen] = surface.places_at(pixels[seen])
    normals[seen] = surface.normals_at(pixels[seen])
    shape = (len(grid), len(grid), 3)
    hidden = _hidden(places.reshape(shape), normals.reshape(shape), surface, step)
    mask = seen.reshape(shape[:2]).astype(np.float32)
    return 1 - _blurred(hidden * mask, mask)


def _hidden(places: Floats, normals: Floats, surface: Surface, step: int) -> Floats:
    """Return the share of directions in which something near stands above the surface."""
    side = len(places)
    total = np.zeros((side, side), dtype=np.float32)
    pixel = surface.camera.distance / surface.camera.scale * step
    reach = (_REACH * side * pixel) ** 2
    for turn in range(_TURNS):
        distance = _REACH * side * ((turn + 0.5) / _TURNS) ** 1.5
        angle = turn * _GOLDEN_ANGLE
        rows, columns = round(distance * sin(angle)), round(distance * cos(angle))
        if (rows, columns) == (0, 0):
            continue
        here, there = _overlap(side, rows), _overlap(side, columns)
        towards = places[here[1], there[1]] - places[here[0], there[0]]
        squares = (towards**2).sum(axis=2) + 1e-9
        rise = (towards * normals[here[0], there[0]]).sum(axis=2) / np.sqrt(squares)
        near = np.maximum(1 - squares / (4 * reach), 0)
        total[here[0], there[0]] += np.maximum(rise - 0.08, 0) * near
    return np.minimum(total * (_STRENGTH / _TURNS), 0.85)


def _overlap(side: int, shift: int) -> tuple[slice, slice]:
    """Return the slices of a line that lie on each other when it is shifted."""
    if shift >= 0:
        return slice(0, side - shift), slice(shift, side)
    return slice(-shift, side), slice(0, side + shift)


def _blurred(values: Floats, mask: Floats) -> Floats:
    """Return the mean of the seen pixels around each pixel."""
    total, count = _box(values), _box(mask)
    return total / np.maximum(count, 1)


def _box(values: Floats) -> Floats:
    padded = np.pad(values, 2)
    side = len(values)
    rows = np.add.reduce([padded[n : n + side] for n in range(5)])
    return np.add.reduce([rows[:, n : n + side] for n in range(5)])
