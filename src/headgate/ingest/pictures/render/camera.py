"""From where a model is seen, and where its points fall in the picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import cos, radians, sin

import numpy as np

from headgate.ingest.pictures.render.arrays import CHUNK, Floats, Triangles, dot

Vector = tuple[float, float, float]
Box = tuple[Floats, Floats]
"""The lowest and the highest coordinates."""

_DISTANCE = 4.2
"""In radii of the model: a long lens, which flatters small things."""


@dataclass(frozen=True)
class Camera:
    """A camera that looks at the middle of a model; x and y of the picture are in pixels, y down."""

    centre: Vector
    distance: float
    right: Vector
    up: Vector
    forward: Vector
    scale: float = 1.0
    offset: tuple[float, float] = (0.0, 0.0)

    @property
    def nearness_range(self) -> tuple[float, float]:
        """The lowest and the highest nearness that a point of the model can have."""
        radius = self.radius * 1.01
        return 1 / (self.distance + radius), 1 / (self.distance - radius)

    @property
    def half_width(self) -> float:
        """How far from the middle of the picture a point of the model can be, before it is fitted."""
        return 1 / (_DISTANCE - 1)

    @property
    def radius(self) -> float:
        """Of the ball around the model."""
        return self.distance / _DISTANCE

    @property
    def pixel(self) -> float:
        """How wide a pixel is in the middle of the model."""
        return self.distance / self.scale

    def turned(self, points: Floats) -> Floats:
        """Return points, (…, 3), from the middle of the model: right, up, towards the camera."""
        relative = points - np.asarray(self.centre, dtype=np.float32)
        x, y, z = (dot(relative, axis) for axis in (self.right, self.up, self.forward))
        return np.stack([x, y, -z], axis=-1)

    def enlarged(self, factor: int) -> Camera:
        """Return the camera for a picture that is so many times as large."""
        offset = (self.offset[0] * factor, self.offset[1] * factor)
        return replace(self, scale=self.scale * factor, offset=offset)

    def project(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Return x, y and nearness of points, (…, 3); nearness is linear across a triangle of the picture."""
        relative = points - np.asarray(self.centre, dtype=np.float32)
        nearness = 1 / (dot(relative, self.forward) + self.distance)
        factor = nearness * self.scale
        x = dot(relative, self.right) * factor + self.offset[0]
        y = self.offset[1] - dot(relative, self.up) * factor
        return x, y, nearness

    def rays(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return how far right and up the ray of a pixel goes for each step forward."""
        across = (x - self.offset[0]) / self.scale
        return across, (self.offset[1] - y) / self.scale


def place_camera(box: Box, *, azimuth: float, elevation: float) -> Camera:
    """Return a camera that looks at a box from angles in degrees; 0, 0 looks at the front, along Y."""
    low, high = box
    centre = (low + high) / 2
    radius = float(np.sqrt((((high - low) / 2) ** 2).sum())) or 1.0
    turn, tilt = radians(azimuth), radians(elevation)
    right = (cos(turn), sin(turn), 0.0)
    forward = (-sin(turn) * cos(tilt), cos(turn) * cos(tilt), -sin(tilt))
    up = (-sin(turn) * sin(tilt), cos(turn) * sin(tilt), cos(tilt))
    x, y, z = (float(part) for part in centre)
    return Camera((x, y, z), radius * _DISTANCE, right, up, forward)


def fit(camera: Camera, triangles: Triangles, *, size_px: int, margin: float) -> Camera:
    """Return the camera with the model centred in a square picture, a margin (a share of it) around it."""
    x_low, x_high, y_low, y_high = _extent(camera, triangles)
    extent = max(x_high - x_low, y_high - y_low) or 1.0
    scale = size_px * (1 - 2 * margin) / extent
    offset = (size_px / 2 - scale * (x_low + x_high) / 2, size_px / 2 - scale * (y_low + y_high) / 2)
    return replace(camera, scale=camera.scale * scale, offset=offset)


def bounds(triangles: Triangles) -> Box:
    """Return the lowest and the highest coordinates."""
    # Axis by axis: numpy reduces a short last axis slowly.
    lows = [[chunk[..., axis].min() for axis in range(3)] for chunk in chunks_of(triangles)]
    highs = [[chunk[..., axis].max() for axis in range(3)] for chunk in chunks_of(triangles)]
    return np.min(lows, axis=0), np.max(highs, axis=0)


def chunks_of(triangles: Triangles) -> Iterator[Triangles]:
    for start in range(0, len(triangles), CHUNK):
        yield triangles[start : start + CHUNK]


def _extent(camera: Camera, triangles: Triangles) -> tuple[float, float, float, float]:
    extents: list[tuple[float, float, float, float]] = []
    for chunk in chunks_of(triangles):
        x, y, _ = camera.project(chunk)
        extents.append((float(x.min()), float(x.max()), float(y.min()), float(y.max())))
    x_low, x_high, y_low, y_high = zip(*extents, strict=True)
    return min(x_low), max(x_high), min(y_low), max(y_high)
