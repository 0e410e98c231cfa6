"""Smooth normals: round where a surface bends gently, sharp where it has an edge."""

from __future__ import annotations

from math import cos, radians

import numpy as np

from headgate.ingest.pictures.render.arrays import Floats, Integers, Triangles, face_normals, normalised

MAX_SMOOTHED = 200_000
"""Beyond so many triangles each is about a pixel, and smoothing shows no difference."""
_CREASE = cos(radians(38))
_NEIGHBOURS = 12
"""How many other triangles of a corner are asked; more are rare and change nothing that can be seen."""


def corner_normals(triangles: Triangles) -> Floats:
    """Return a normal for each corner, (n, 3, 3): the mean of the triangles that bend little from its own."""
    faces = face_normals(triangles)
    units = normalised(faces)
    order, vertex = _by_vertex(triangles)
    owner = order // 3
    unit, weighted = units[owner], faces[owner]
    total = weighted.copy()
    for distance in range(1, _NEIGHBOURS + 1):
        _add_neighbours(total, unit, weighted, vertex, distance)
    result = np.empty_like(total)
    result[order] = normalised(total)
    return result.reshape(-1, 3, 3)


def _by_vertex(triangles: Triangles) -> tuple[Integers, Integers]:
    """Return the corners sorted by their place, and which place each of the sorted has."""
    # Adding zero makes -0.0 the same as 0.0.
    bits = (triangles.reshape(-1, 3) + 0).view(np.uint32).astype(np.uint64)
    key = bits[:, 0] * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(29))) + bits[:, 1] * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(32))) + bits[:, 2] * np.uint64(0x94D049BB133111EB)
    order = np.argsort(key, kind="stable")
    return order, key[order].view(np.int64)


def _add_neighbours(total: Floats, unit: Floats, weighted: Floats, vertex: Integers, distance: int) -> None:
    one, other = slice(None, -distance), slice(distance, None)
    bend = (unit[one] * unit[other]).sum(axis=1)
    joined = ((vertex[one] == vertex[other]) & (bend > _CREASE))[:, None]
    total[one] += np.where(joined, weighted[other], 0)
    total[other] += np.where(joined, weighted[one], 0)
