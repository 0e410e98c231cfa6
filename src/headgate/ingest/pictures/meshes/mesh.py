"""Triangles of any file, checked and brought to one scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headgate.ingest.pictures.problems import PictureProblem

Triangles = NDArray[np.float32]

MAX_TRIANGLES = 5_000_000
"""180 MB of corners, a few seconds of drawing."""
_CHUNK = 1 << 16
_MAX_COORDINATE = 1e12
_MAX_BROKEN_SHARE = 0.5


def check_count(triangles: int) -> None:
    if triangles > MAX_TRIANGLES:
        raise PictureProblem("too_many_triangles", f"{triangles} triangles")
    if triangles <= 0:
        raise PictureProblem("empty_model", "no triangles")


def prepared(triangles: Triangles) -> Triangles:
    """Return the usable triangles in place, centred and at most 1 away from the middle on every axis.

    One scale for all makes the figures of drawing hold for a ring and for a house, and keeps far-off
    coordinates from losing their precision.
    """
    triangles = _without_broken(triangles)
    flat = triangles.reshape(-1, 3)
    low = np.array([flat[:, axis].min() for axis in range(3)], dtype=np.float64)
    high = np.array([flat[:, axis].max() for axis in range(3)], dtype=np.float64)
    reach = float((high - low).max()) / 2
    if reach <= 0:
        raise PictureProblem("empty_model", "all corners are in one place")
    if np.abs([low, high]).max() > _MAX_COORDINATE:
        raise PictureProblem("damaged", "coordinates out of all proportion")
    for start in range(0, len(flat), _CHUNK):
        part = flat[start : start + _CHUNK]
        part[:] = (part - (low + high) / 2) / reach
    return triangles


def _without_broken(triangles: Triangles) -> Triangles:
    """Drop triangles with corners that are not numbers; a file of mostly such is damaged."""
    whole = np.empty(len(triangles), dtype=np.bool_)
    for start in range(0, len(triangles), _CHUNK):
        part = triangles[start : start + _CHUNK].reshape(-1, 9)
        whole[start : start + _CHUNK] = np.isfinite(part).all(axis=1)
    broken = len(triangles) - int(np.count_nonzero(whole))
    if broken == 0:
        return triangles
    if broken > _MAX_BROKEN_SHARE * len(triangles):
        raise PictureProblem("damaged", f"{broken} of {len(triangles)} triangles are not numbers")
    return triangles[whole]
