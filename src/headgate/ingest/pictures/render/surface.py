"""What is seen at the pixels of a raster: places and normals, as the camera has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.ingest.pictures.render.arrays import Floats, Integers, Triangles, dot, face_normals, normalised
from headgate.ingest.pictures.render.camera import Camera
from headgate.ingest.pictures.render.rasterise import Raster


@dataclass(frozen=True)
class Surface:
    """A model as a camera sees it."""

    triangles: Triangles
    corner_normals: Floats | None
    """None where triangles are so small that their own normals will do."""
    camera: Camera
    raster: Raster

    def normals_at(self, pixels: Integers) -> Floats:
        """Return the normals that face the camera, (n, 3): right, up, towards the camera."""
        ids = self.raster.ids[pixels]
        corners = self.triangles[ids]
        if self.corner_normals is None:
            normals = face_normals(corners)
        else:
            shares = self._shares(corners, pixels)
            normals = _blend(self.corner_normals[ids], shares)
        axes = (self.camera.right, self.camera.up, self.camera.forward)
        seen = normalised(np.stack([dot(normals, axis) for axis in axes], axis=1))
        # Many files have triangles that face the wrong way; whatever is seen faces the camera.
        return seen * np.where(seen[:, 2] > 0, -1, 1)[:, None] * np.array([1, 1, -1], dtype=np.float32)

    def places_at(self, pixels: Integers) -> Floats:
        """Return the places, (n, 3): right, up, towards the camera, from the middle of the model."""
        x, y = self._position(pixels)
        across, above = self.camera.rays(x, y)
        away = 1 / self.raster.nearness[pixels]
        return np.stack([across * away, above * away, self.camera.distance - away], axis=1)

    def _position(self, pixels: Integers) -> tuple[Floats, Floats]:
        row, column = np.divmod(pixels, self.raster.size_px)
        return column.astype(np.float32) + 0.5, row.astype(np.float32) + 0.5

    def _shares(self, corners: Triangles, pixels: Integers) -> Floats:
        """Return how much each corner of its triangle counts at a pixel."""
        x, y, near = self.camera.project(corners)
        px, py = self._position(pixels)
        ax, ay, bx, by = x[:, 1] - x[:, 0], y[:, 1] - y[:, 0], x[:, 2] - x[:, 0], y[:, 2] - y[:, 0]
        area = ax * by - bx * ay
        area = np.where(area == 0, 1, area)
        dx, dy = px - x[:, 0], py - y[:, 0]
        second, third = (dx * by - bx * dy) / area, (ax * dy - dx * ay) / area
        return np.stack([1 - second - third, second, third], axis=1).clip(0, 1) * near


def _blend(vectors: Floats, shares: Floats) -> Floats:
    """Return the sum of three vectors for each, (n, 3, 3), by their shares."""
    first, second, third = (vectors[:, corner] * shares[:, corner, None] for corner in range(3))
    return first + second + third
