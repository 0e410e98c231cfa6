"""Light on a surface: a warm key light, a cool fill, a rim from behind, and a sky."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from headgate.ingest.pictures.render.arrays import Floats, Integers, dot

Vector = tuple[float, float, float]

_ALBEDO = (0.40, 0.46, 0.55)
"""A calm slate that stands out from white and from black pages."""


def _unit(x: float, y: float, z: float) -> Vector:
    length = sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


KEY = _unit(-0.55, 0.75, 0.62)
"""Right, up, towards the camera."""
_FILL = _unit(0.85, 0.1, 0.5)
_RIM = _unit(0.5, 0.55, -0.65)
_HALF = _unit(KEY[0], KEY[1], KEY[2] + 1)
_SHADED = 0.3
"""How much of the key light scatters into its shadow."""
_KEY_COLOUR = (1.75, 1.62, 1.42)
_FILL_COLOUR = (0.16, 0.21, 0.30)
_RIM_COLOUR = (0.34, 0.38, 0.46)
_SKY, _GROUND = (0.30, 0.34, 0.40), (0.13, 0.12, 0.115)


@dataclass(frozen=True)
class Light:
    """How much light arrives, from 0 to 1: of the sky, and of the key light."""

    openness: Floats
    key: Floats

    def at(self, rows: Integers, columns: Integers) -> Light:
        return Light(self.openness[rows, columns], self.key[rows, columns])


def shade(normals: Floats, light: Light, *, sky: Vector) -> Floats:
    """Return colours, (n, 3) from 0 to 1 as screens show them; `sky` is the way up as the camera has it."""
    openness, reached = light.openness, _SHADED + (1 - _SHADED) * light.key
    key = np.maximum(dot(normals, KEY), 0) * reached
    fill = np.maximum(dot(normals, _FILL) * 0.7 + 0.3, 0)
    edge = (1 - np.clip(normals[:, 2], 0, 1)) ** 3
    rim = np.maximum(dot(normals, _RIM) + 0.35, 0) * edge
    upward = dot(normals, sky) * 0.5 + 0.5
    gloss = np.maximum(dot(normals, _HALF), 0) ** 28 * 0.10 * reached
    direct = 0.35 + 0.65 * openness
    colours = np.empty((len(normals), 3), dtype=np.float32)
    for channel in range(3):
        ambient = _GROUND[channel] + (_SKY[channel] - _GROUND[channel]) * upward
        lit = ambient * openness + (key * _KEY_COLOUR[channel] + fill * _FILL_COLOUR[channel]) * direct
        shine = (gloss + rim * _RIM_COLOUR[channel] * 0.6) * direct
        colours[:, channel] = _tone(lit * _ALBEDO[channel] + shine)
    return colours


def _tone(light: Floats) -> Floats:
    """Return light as a screen shows it, with a soft shoulder instead of burnt highlights."""
    soft = light * (1 + light * 0.18) / (1 + light * 0.62)
    return np.clip(soft, 0, 1) ** (1 / 2.2)
