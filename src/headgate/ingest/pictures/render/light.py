"""What the key light reaches: the model drawn from where the light is, and asked at every pixel."""

from __future__ import annotations

from itertools import product

import numpy as np

from headgate.ingest.pictures.render.arrays import Floats, Triangles, dot
from headgate.ingest.pictures.render.camera import Camera, Vector
from headgate.ingest.pictures.render.grid import Grid
from headgate.ingest.pictures.render.rasterise import rasterise
from headgate.ingest.pictures.render.shading import KEY

_CELLS = 640
_TAPS = tuple(product((-1.5, -0.5, 0.5, 1.5), repeat=2))
"""Places around a cell that are asked, which makes the border of a shadow soft."""
_LIFT = 1.6
"""How far a place is moved off its surface before it asks, in cells: a surface must not shade itself."""


def reached_by_key_light(triangles: Triangles, camera: Camera, grid: Grid) -> Floats:
    """Return how much of the key light reaches the pixels of a grid, from 0 to 1."""
    axes = _axes()
    reach = camera.radius * 1.02
    scale = _CELLS / (2 * reach)

    def from_light(places: Floats) -> tuple[Floats, Floats, Floats]:
        across, down, towards = (dot(places, axis) for axis in axes)
        return (across + reach) * scale, (down + reach) * scale, towards

    def project(chunk: Triangles) -> tuple[Floats, Floats, Floats]:
        return from_light(camera.turned(chunk))

    raster = rasterise(triangles, project, size_px=_CELLS, nearness=(-reach, reach))
    nearest = np.where(raster.ids >= 0, raster.nearness, -1e9).reshape(_CELLS, _CELLS)
    lifted = grid.places[grid.seen] + grid.normals[grid.seen] * (_LIFT / scale)
    x, y, towards = from_light(lifted)
    total = np.zeros(len(lifted), dtype=np.float32)
    for right, below in _TAPS:
        column = (x + right).astype(np.int64).clip(0, _CELLS - 1)
        row = (y + below).astype(np.int64).clip(0, _CELLS - 1)
        total += nearest[row, column] <= towards + _LIFT / scale
    return grid.spread(total / len(_TAPS))


def _axes() -> tuple[Vector, Vector, Vector]:
    """Return two directions across the light, and the one towards it: right, up, towards the camera."""
    x, y, z = KEY
    length = (x * x + z * z) ** 0.5
    across = (z / length, 0.0, -x / length)
    down = (y * across[2], z * across[0] - x * across[2], -y * across[0])
    return across, down, KEY
