"""The soft shadow of a model on the ground that it stands on."""

from __future__ import annotations

import numpy as np

from headgate.ingest.pictures.render.arrays import Flags, Floats, Triangles
from headgate.ingest.pictures.render.camera import Camera, bounds
from headgate.ingest.pictures.render.rasterise import rasterise

_CELLS = 224
_SPREAD = 1.9
"""The side of the ground in sides of the model."""
_CONTACT, _BROAD = 0.42, 0.26
_FADE = 0.07
"""The share of the picture along its border where the shadow ends softly."""


def ground_shadow(triangles: Triangles, camera: Camera, *, size_px: int) -> Floats:
    """Return how dark the ground is at each pixel, from 0 to 1; `camera` is fitted to that size."""
    low, high = bounds(triangles)
    side = float(max(high[0] - low[0], high[1] - low[1])) * _SPREAD or 1.0
    corner = (float(low[0] + high[0]) / 2 - side / 2, float(low[1] + high[1]) / 2 - side / 2)
    texture = _texture(triangles, corner, side, (float(low[2]), float(high[2])))
    x, y = np.meshgrid(*(2 * [np.arange(size_px, dtype=np.float32) + 0.5]))
    ground_x, ground_y, is_ground = _meet_ground(camera, x, y, float(low[2]))
    dark = _sampled(texture, (ground_x - corner[0]) / side * _CELLS, (ground_y - corner[1]) / side * _CELLS)
    return np.where(is_ground, dark, 0) * _border_fade(size_px)


def _texture(
    triangles: Triangles, corner: tuple[float, float], side: float, heights: tuple[float, float]
) -> Floats:
    """Return the darkness of the ground as seen from above: dark below what is near to it."""
    scale = _CELLS / side

    def from_below(chunk: Triangles) -> tuple[Floats, Floats, Floats]:
        x = (chunk[..., 0] - corner[0]) * scale
        return x, (chunk[..., 1] - corner[1]) * scale, -chunk[..., 2]

    raster = rasterise(triangles, from_below, size_px=_CELLS, nearness=(-heights[1], -heights[0]))
    covered = (raster.ids >= 0).reshape(_CELLS, _CELLS)
    height = (-raster.nearness - heights[0]).reshape(_CELLS, _CELLS) / side
    contact = np.where(covered, np.exp(-height / 0.02), 0)
    broad = np.where(covered, np.exp(-height / 0.16), 0)
    return _CONTACT * _blurred(contact, 4) + _BROAD * _blurred(broad, 14)


def _meet_ground(camera: Camera, x: Floats, y: Floats, level: float) -> tuple[Floats, Floats, Flags]:
    """Return where the rays of pixels meet the ground, and which of them do."""
    across, above = camera.rays(x, y)
    ray = [
        f + across * r + above * u for f, r, u in zip(camera.forward, camera.right, camera.up, strict=True)
    ]
    eye = [c - camera.distance * f for c, f in zip(camera.centre, camera.forward, strict=True)]
    falling = ray[2] < -1e-3
    steps = (level - eye[2]) / np.where(falling, ray[2], -1)
    return eye[0] + steps * ray[0], eye[1] + steps * ray[1], falling


def _sampled(texture: Floats, x: Floats, y: Floats) -> Floats:
    """Return the texture at places between its cells; 0 beyond its border."""
    last = len(texture) - 1
    inside = (x >= 0.5) & (x <= last + 0.5) & (y >= 0.5) & (y <= last + 0.5)
    x, y = np.clip(x - 0.5, 0, last - 1e-3), np.clip(y - 0.5, 0, last - 1e-3)
    column, row = x.astype(np.int64), y.astype(np.int64)
    right, down = x - column, y - row
    upper = texture[row, column] * (1 - right) + texture[row, column + 1] * right
    lower = texture[row + 1, column] * (1 - right) + texture[row + 1, column + 1] * right
    return np.where(inside, upper * (1 - down) + lower * down, 0).astype(np.float32)


def _blurred(values: Floats, radius: int) -> Floats:
    """Blur by three means in a row, which is close to a Gaussian blur."""
    for _ in range(3):
        for axis in (0, 1):
            widths = [(radius + 1, radius) if axis == each else (0, 0) for each in (0, 1)]
            sums = np.cumsum(np.pad(values, widths), axis=axis, dtype=np.float64)
            head = np.take(sums, range(2 * radius + 1, sums.shape[axis]), axis=axis)
            tail = np.take(sums, range(sums.shape[axis] - 2 * radius - 1), axis=axis)
            values = ((head - tail) / (2 * radius + 1)).astype(np.float32)
    return values


def _border_fade(size_px: int) -> Floats:
    place = (np.arange(size_px, dtype=np.float32) + 0.5) / size_px
    ramp = np.clip(np.minimum(place, 1 - place) / _FADE, 0, 1)
    ramp = ramp * ramp * (3 - 2 * ramp)
    return np.minimum(ramp[:, None], ramp[None])
