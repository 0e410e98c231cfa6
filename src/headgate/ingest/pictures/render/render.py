"""A picture of a model: chosen view, z-buffer, light, shadow, smooth edges, transparent background."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.ingest.pictures.problems import PictureProblem
from headgate.ingest.pictures.render.arrays import CHUNK, Floats, Triangles
from headgate.ingest.pictures.render.camera import Camera, fit
from headgate.ingest.pictures.render.grid import Grid
from headgate.ingest.pictures.render.light import reached_by_key_light
from headgate.ingest.pictures.render.normals import MAX_SMOOTHED, corner_normals
from headgate.ingest.pictures.render.occlusion import openness
from headgate.ingest.pictures.render.rasterise import count_samples, rasterise
from headgate.ingest.pictures.render.shading import Light, Vector, shade
from headgate.ingest.pictures.render.shadow import ground_shadow
from headgate.ingest.pictures.render.surface import Surface
from headgate.ingest.pictures.render.view import choose_camera

MARGIN = 0.07
_SUPERSAMPLING = (3, 2, 1)
_MAX_SIDE_PX = 1600
"""Of the picture before its samples are averaged; a larger one would need much memory."""
_MAX_SAMPLES = 24_000_000
"""Pixels that may be drawn, hidden ones included: about a second."""

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class _Canvas:
    """Colours that are already multiplied by their opacity, and the opacity."""

    colours: Floats
    opacity: Floats


def render(triangles: Triangles, *, size_px: int = 512) -> Pixels:
    """Return a square picture, (size, size, 4), of triangles whose coordinates are all finite."""
    camera = fit(choose_camera(triangles), triangles, size_px=size_px, margin=MARGIN)
    step = _affordable(triangles, camera, size_px)
    surface = _seen(triangles, camera.enlarged(step), size_px=size_px * step)
    grid = Grid.of(surface, step=step)
    light = Light(openness(grid, pixel=camera.pixel), reached_by_key_light(triangles, camera, grid))
    canvas = _lit(surface, light, step)
    return _finished(canvas, ground_shadow(triangles, camera, size_px=size_px))


def _affordable(triangles: Triangles, camera: Camera, size_px: int) -> int:
    """Return how many samples a side a pixel gets: fewer in large pictures, and of many layers."""
    samples = count_samples(triangles, camera.project)
    for step in _SUPERSAMPLING:
        if samples * step * step <= _MAX_SAMPLES and (size_px * step <= _MAX_SIDE_PX or step == 1):
            return step
    raise PictureProblem("too_complex", f"{samples:.0f} pixels to draw")


def _seen(triangles: Triangles, camera: Camera, *, size_px: int) -> Surface:
    raster = rasterise(triangles, camera.project, size_px=size_px, nearness=camera.nearness_range)
    if not (raster.ids >= 0).any():
        raise PictureProblem("empty_model", "nothing is seen")
    normals = corner_normals(triangles) if len(triangles) <= MAX_SMOOTHED else None
    return Surface(triangles, normals, camera, raster)


def _lit(surface: Surface, light: Light, step: int) -> _Canvas:
    """Return the mean colour of the samples of each pixel, which smooths edges."""
    size = surface.raster.size_px
    side = size // step
    pixels = np.flatnonzero(surface.raster.ids >= 0)
    totals = np.zeros((4, side * side), dtype=np.float32)
    for start in range(0, len(pixels), CHUNK):
        part = pixels[start : start + CHUNK]
        row, column = np.divmod(part, size)
        row, column = row // step, column // step
        colours = shade(surface.normals_at(part), light.at(row, column), sky=_sky(surface.camera))
        for channel in range(3):
            np.add.at(totals[channel], row * side + column, colours[:, channel])
        np.add.at(totals[3], row * side + column, 1)
    means = np.moveaxis(totals.reshape(4, side, side), 0, -1) / (step * step)
    return _Canvas(means[..., :3], means[..., 3])


def _sky(camera: Camera) -> Vector:
    """Return the way up, along Z, as the camera has it: right, up, towards it."""
    return (camera.right[2], camera.up[2], -camera.forward[2])


def _finished(canvas: _Canvas, shadow: Floats) -> Pixels:
    """Lay the model over its shadow, and return what image files hold: plain colours and an opacity."""
    opacity = canvas.opacity + shadow * (1 - canvas.opacity)
    colours = canvas.colours / np.maximum(opacity, 1e-6)[..., None]
    picture = np.concatenate([colours, opacity[..., None]], axis=-1)
    return np.round(np.clip(picture, 0, 1) * 255).astype(np.uint8)
