"""The three-quarter view that shows the most of a model.

A handful of directions are tried on a sample of the surface. The best shows a large silhouette and many sides
of it; the front is preferred where it is nearly as good, since most models face the viewer along Y.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from headgate.ingest.pictures.render.arrays import Floats, Integers, Triangles, dot, face_normals, normalised
from headgate.ingest.pictures.render.camera import Box, Camera, bounds, place_camera

_AZIMUTHS = (
    (-30.0, 1.0),
    (30.0, 0.99),
    (-18.0, 0.97),
    (-58.0, 0.95),
    (58.0, 0.94),
    (150.0, 0.85),
    (210.0, 0.85),
)
"""Degrees to the right of the front, and how much a view from there is liked."""
_ELEVATIONS = ((18.0, 1.0), (30.0, 0.95), (48.0, 0.87))
_SAMPLES = 30_000
_GRID = 56
_SIDES = 26


def choose_camera(triangles: Triangles) -> Camera:
    """Return a camera at the angles that show the most; equal models get equal cameras."""
    points, normals, weights = _sample(triangles)
    sides, box = _side_of(normals), bounds(triangles)
    best = max(
        product(_AZIMUTHS, _ELEVATIONS),
        key=lambda view: (
            view[0][1] * view[1][1] * _score(_camera(box, view), points, normals, weights, sides)
        ),
    )
    return _camera(box, best)


def _camera(box: Box, view: tuple[tuple[float, float], tuple[float, float]]) -> Camera:
    (azimuth, _), (elevation, _) = view
    return place_camera(box, azimuth=azimuth, elevation=elevation)


def _sample(triangles: Triangles) -> tuple[Floats, Floats, Floats]:
    """Return points spread over the surface, with normals and the area that each stands for."""
    step = max(1, len(triangles) // _SAMPLES)
    corners = triangles[::step]
    normals = face_normals(corners)
    areas = np.sqrt((normals**2).sum(axis=1))
    copies = np.clip(_SAMPLES * areas / (areas.sum(dtype=np.float64) or 1.0), 1, 400).astype(np.int64)
    owner = np.repeat(np.arange(len(corners)), copies)
    place = (np.arange(len(owner)) - np.repeat(np.cumsum(copies) - copies, copies) + 0.5) / copies[owner]
    # The golden ratio spreads points evenly without any randomness.
    u, v = np.sqrt(place), (np.arange(len(owner)) * 0.6180339887) % 1
    shares = np.stack([1 - u, u * (1 - v), u * v], axis=1).astype(np.float32)
    points = (corners[owner] * shares[:, :, None]).sum(axis=1)
    return points, normalised(normals)[owner], (areas / copies)[owner]


def _side_of(normals: Floats) -> Integers:
    """Return which of 27 directions a surface faces."""
    thirds = np.round(normals * 1.3).clip(-1, 1).astype(np.int64) + 1
    return thirds[:, 0] * 9 + thirds[:, 1] * 3 + thirds[:, 2]


def _score(camera: Camera, points: Floats, normals: Floats, weights: Floats, sides: Integers) -> float:
    x, y, near = camera.project(points)
    # The grid covers the ball around the model, so that silhouettes of all views compare.
    column = ((x / camera.half_width + 1) / 2 * (_GRID - 1)).clip(0, _GRID - 1).astype(np.int64)
    row = ((y / camera.half_width + 1) / 2 * (_GRID - 1)).clip(0, _GRID - 1).astype(np.int64)
    cell = row * _GRID + column
    nearest = np.zeros(_GRID * _GRID, dtype=np.float32)
    np.maximum.at(nearest, cell, near)
    spread = float(near.max() - near.min()) or 1.0
    seen = near >= nearest[cell] - (0.06 * spread)
    facing = np.maximum(np.abs(dot(normals, camera.forward)), 0.05)
    shown = np.bincount(sides[seen], weights=(weights * facing)[seen], minlength=_SIDES + 1)
    shares = shown / (shown.sum() or 1.0)
    variety = float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())
    silhouette = np.count_nonzero(nearest) / (_GRID * _GRID)
    return float(silhouette**0.7) * (1 + variety)
