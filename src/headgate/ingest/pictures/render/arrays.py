"""The arrays that drawing works on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
"""Single precision throughout."""
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Triangles = NDArray[np.float32]
"""Corners of triangles, (n, 3, 3)."""

CHUNK = 1 << 16
"""How many triangles or pixels are worked on at a time, so that memory does not grow with the model."""


def dot(vectors: NDArray[Any], direction: tuple[float, float, float]) -> Floats:
    """Return the products of vectors, (…, 3), with one direction.

    Written out: the BLAS library would start threads, and may round differently on other machines.
    """
    x, y, z = direction
    return vectors[..., 0] * x + vectors[..., 1] * y + vectors[..., 2] * z


def lowest(values: Floats) -> Floats:
    """Return the lowest of each three, (n, 3); numpy's own way along so short an axis is slow."""
    return np.minimum(np.minimum(values[:, 0], values[:, 1]), values[:, 2])


def highest(values: Floats) -> Floats:
    return np.maximum(np.maximum(values[:, 0], values[:, 1]), values[:, 2])


def normalised(vectors: Floats) -> Floats:
    """Return the vectors, (n, 3), at length 1; those without a length stay zero."""
    squares = vectors[:, 0] ** 2 + vectors[:, 1] ** 2 + vectors[:, 2] ** 2
    lengths = np.sqrt(squares)
    return vectors / np.where(lengths > 0, lengths, 1)[:, None]


def face_normals(corners: Triangles) -> Floats:
    """Return the normals of triangles, each as long as twice its area."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normals = np.empty_like(first)
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        normals[:, axis] = first[:, u] * second[:, v] - first[:, v] * second[:, u]
    return normals
