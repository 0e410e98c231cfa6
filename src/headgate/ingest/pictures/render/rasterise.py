"""Which triangle is seen at each pixel: a z-buffer filled row by row, for all triangles of a chunk at once.

A triangle becomes the rows that it crosses, and a row the pixels between its two edges. Both steps work on at
most a fixed number of rows and pixels, so memory depends neither on how many triangles there are nor on how
large they are. Nearness and number of a triangle are one integer, so the result does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.ingest.pictures.render.arrays import CHUNK, Floats, Integers, Triangles

Projection = Callable[[Triangles], tuple[Floats, Floats, Floats]]
"""Returns x, y and nearness, (n, 3) each, of the corners of triangles."""

_MAX_SAMPLES = 1 << 19
_DEPTH_BITS = 30
"""One less than fits beside the number, since a 32-bit float may round up to the next power of two."""
_ID_BITS = 32
_NOTHING = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Raster:
    """What is seen: per pixel the number of a triangle, -1 where there is none, and how near it is."""

    size_px: int
    ids: Integers
    nearness: Floats


@dataclass(frozen=True)
class _Rows:
    """Rows of pixels that triangles cross: which triangle, which row."""

    owner: Integers
    row: Integers


def rasterise(
    triangles: Triangles, projection: Projection, *, size_px: int, nearness: tuple[float, float]
) -> Raster:
    """Draw triangles into a square; `nearness` is the lowest and the highest that occur."""
    low, high = nearness
    step = (2**_DEPTH_BITS - 1) / ((high - low) or 1.0)
    buffer = np.full(size_px * size_px, _NOTHING, dtype=np.int64)
    for start in range(0, len(triangles), CHUNK):
        x, y, near = projection(triangles[start : start + CHUNK])
        _draw(buffer, size_px, x, y, (high - near) * step, start)
    seen = buffer != _NOTHING
    depth = (buffer >> _ID_BITS).astype(np.float32)
    ids = np.where(seen, buffer & (2**_ID_BITS - 1), -1)
    return Raster(size_px, ids, np.where(seen, high - depth / step, 0))


def count_samples(triangles: Triangles, projection: Projection) -> float:
    """Return about how many pixels drawing would touch, hidden ones included."""
    total = 0.0
    for start in range(0, len(triangles), CHUNK):
        x, y, _ = projection(triangles[start : start + CHUNK])
        area = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0])
        rows = y.max(axis=1) - y.min(axis=1)
        total += float(np.abs(area).sum(dtype=np.float64)) / 2 + float(rows.sum(dtype=np.float64))
    return total


def _draw(buffer: Integers, size_px: int, x: Floats, y: Floats, depth: Floats, first_id: int) -> None:
    first_row = np.ceil(y.min(axis=1) - 0.5)
    rows = np.ceil(y.max(axis=1) - 0.5) - first_row
    columns = np.ceil(x.max(axis=1) - 0.5) - np.ceil(x.min(axis=1) - 0.5)
    drawn = np.flatnonzero((rows > 0) & (columns > 0))
    if not len(drawn):
        return
    x, y, depth = x[drawn], y[drawn], depth[drawn]
    order = np.argsort(y, axis=1, kind="stable")
    x, y, depth = (np.take_along_axis(part, order, axis=1) for part in (x, y, depth))
    edges = _Edges.of(x, y, depth)
    for part in _batches(rows[drawn].astype(np.int64)):
        owner, step = _expanded(rows[drawn][part].astype(np.int64))
        row = first_row[drawn][part][owner].astype(np.int64) + step
        _draw_rows(buffer, size_px, edges, _Rows(owner + part.start, row), drawn + first_id)


@dataclass(frozen=True)
class _Edges:
    """Triangles with their corners sorted from top to bottom, and how x and depth change along them."""

    x: Floats
    y: Floats
    depth: Floats
    long: Floats
    upper: Floats
    lower: Floats
    across: Floats
    down: Floats

    @classmethod
    def of(cls, x: Floats, y: Floats, depth: Floats) -> _Edges:
        def slope(a: int, b: int) -> Floats:
            return (x[:, b] - x[:, a]) / np.maximum(y[:, b] - y[:, a], 1e-12)

        x1, x2 = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
        y1, y2 = y[:, 1] - y[:, 0], y[:, 2] - y[:, 0]
        z1, z2 = depth[:, 1] - depth[:, 0], depth[:, 2] - depth[:, 0]
        area = x1 * y2 - x2 * y1
        area = np.where(area == 0, 1e-12, area)
        across, down = (z1 * y2 - z2 * y1) / area, (x1 * z2 - x2 * z1) / area
        return cls(x, y, depth, slope(0, 2), slope(0, 1), slope(1, 2), across, down)


def _draw_rows(buffer: Integers, size_px: int, edges: _Edges, rows: _Rows, ids: Integers) -> None:
    owner, y = rows.owner, rows.row.astype(np.float32) + 0.5
    x, top, middle = edges.x, edges.y[owner, 0], edges.y[owner, 1]
    one = x[owner, 0] + (y - top) * edges.long[owner]
    above = x[owner, 0] + (y - top) * edges.upper[owner]
    below = x[owner, 1] + (y - middle) * edges.lower[owner]
    other = below.copy()
    np.copyto(other, above, where=np.less(y, middle))
    first = np.clip(np.ceil(np.minimum(one, other) - 0.5), 0, size_px).astype(np.int64)
    last = np.clip(np.ceil(np.maximum(one, other) - 0.5), 0, size_px).astype(np.int64)
    lengths = np.where((rows.row >= 0) & (rows.row < size_px), last - first, 0)
    kept = np.flatnonzero(lengths)
    owner, first, lengths = owner[kept], first[kept], lengths[kept]
    lead = first.astype(np.float32) + 0.5 - x[owner, 0]
    depth = edges.depth[owner, 0] + lead * edges.across[owner] + (y[kept] - top[kept]) * edges.down[owner]
    place = rows.row[kept] * size_px + first
    # A sliver's slope is noise: its depth stays between those of its corners.
    near, far = edges.depth.min(axis=1)[owner], edges.depth.max(axis=1)[owner]
    slope, key = edges.across[owner], ids[owner]
    for part in _batches(lengths):
        line, step = _expanded(lengths[part])
        value = depth[part][line] + step.astype(np.float32) * slope[part][line]
        value = np.clip(value, near[part][line], far[part][line])
        combined = (value.astype(np.int64) << _ID_BITS) | key[part][line]
        np.minimum.at(buffer, place[part][line] + step, combined)


def _batches(counts: NDArray[Any]) -> Iterator[slice]:
    """Cut a list of counts so that each piece sums up to little more than the limit."""
    ends = np.cumsum(counts)
    start, done = 0, 0
    while start < len(counts):
        stop = int(np.searchsorted(ends, done + _MAX_SAMPLES, side="right"))
        stop = max(stop, start + 1)
        yield slice(start, stop)
        start, done = stop, int(ends[stop - 1])


def _expanded(counts: Integers) -> tuple[Integers, Integers]:
    """Return for each of so many steps to whom it belongs, and which of his steps it is."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
