"""What is seen at one sample of every pixel of the finished picture, for what need not be finer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.ingest.pictures.render.arrays import Flags, Floats
from headgate.ingest.pictures.render.surface import Surface

_NOWHERE = -1e9
_BLUR = 5


@dataclass(frozen=True)
class Grid:
    """Places and normals, (side, side, 3), as the camera has them, and where there are any."""

    places: Floats
    normals: Floats
    seen: Flags

    @classmethod
    def of(cls, surface: Surface, *, step: int) -> Grid:
        """Take every `step`-th sample of a surface."""
        size = surface.raster.size_px
        line = np.arange(step // 2, size, step)
        pixels = (line[:, None] * size + line[None]).ravel()
        seen = surface.raster.ids[pixels] >= 0
        places = np.full((len(pixels), 3), _NOWHERE, dtype=np.float32)
        normals = np.zeros_like(places)
        places[seen] = surface.places_at(pixels[seen])
        normals[seen] = surface.normals_at(pixels[seen])
        shape = (len(line), len(line), 3)
        return cls(places.reshape(shape), normals.reshape(shape), seen.reshape(shape[:2]))

    def spread(self, values: Floats) -> Floats:
        """Return values of the seen pixels as a picture, (side, side), blurred; 1 where nothing is near."""
        picture = np.zeros(self.seen.shape, dtype=np.float32)
        picture[self.seen] = 1 - values
        weights = _box(self.seen.astype(np.float32))
        return 1 - _box(picture) / np.maximum(weights, 1)


def _box(values: Floats) -> Floats:
    """Return the sum of the pixels around each pixel."""
    padded = np.pad(values, _BLUR // 2)
    side = len(values)
    rows = np.add.reduce([padded[n : n + side] for n in range(_BLUR)])
    return np.add.reduce([rows[:, n : n + side] for n in range(_BLUR)])
