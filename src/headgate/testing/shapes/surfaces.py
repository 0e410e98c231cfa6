"""Building blocks of shapes: surfaces as arrays of triangles, (n, 3, 3), Z up, millimetres."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Triangles = NDArray[np.float32]
Points = NDArray[np.float64]


def surface(grid: Points, *, wrap_rows: bool = False, wrap_columns: bool = False) -> Triangles:
    """Return the triangles between the points of a grid, (rows, columns, 3)."""
    if wrap_rows:
        grid = np.concatenate([grid, grid[:1]])
    if wrap_columns:
        grid = np.concatenate([grid, grid[:, :1]], axis=1)
    a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
    lower, upper = np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)
    return np.concatenate([lower.reshape(-1, 3, 3), upper.reshape(-1, 3, 3)]).astype(np.float32)


def lathe(profile: Sequence[tuple[float, float]], *, segments: int = 96) -> Triangles:
    """Return the solid of a profile of (radius, height), from its bottom to its top, turned around Z."""
    radius, height = np.asarray(profile, dtype=np.float64).T
    angle = np.linspace(0, 2 * np.pi, segments, endpoint=False)
    across = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    flat = radius[:, None, None] * across[None]
    levels = np.broadcast_to(height[:, None, None], (*flat.shape[:2], 1))
    return surface(np.concatenate([flat, levels], axis=-1), wrap_columns=True)


def box(size: tuple[float, float, float], at: tuple[float, float, float] = (0, 0, 0)) -> Triangles:
    """Return a box that stands on the height of `at`, centred on its place."""
    signs = np.array([(x, y, z) for z in (0, 1) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
    corners = signs * np.asarray(size) + np.asarray(at)
    faces = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    corner_ids = [ids for a, b, c, d in faces for ids in ((a, b, c), (a, c, d))]
    return corners[np.asarray(corner_ids)].astype(np.float32)


def ring(outer: Points, inner: Points, *, height: float) -> Triangles:
    """Return the solid between two outlines with as many points each, (n, 2), anticlockwise."""

    def level(outline: Points, z: float) -> Points:
        return np.column_stack([outline, np.full(len(outline), z)])

    loop = [level(outer, 0), level(outer, height), level(inner, height), level(inner, 0), level(outer, 0)]
    return surface(np.stack(loop), wrap_columns=True)


def moved(triangles: Triangles, by: tuple[float, float, float]) -> Triangles:
    return triangles + np.asarray(by, dtype=np.float32)


def turned(triangles: Triangles, *, degrees: float, around: int = 2) -> Triangles:
    """Return the triangles turned around one of the axes."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    first, second = [axis for axis in range(3) if axis != around]
    result = triangles.copy()
    result[..., first] = cos * triangles[..., first] - sin * triangles[..., second]
    result[..., second] = sin * triangles[..., first] + cos * triangles[..., second]
    return result


def joined(*pieces: Triangles) -> Triangles:
    return np.concatenate(pieces)
