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

from headgate.ingest.pictures.render.arrays import CHUNK, Flags, Floats, Integers, Triangles, highest, lowest

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
    ids: NDArray[np.int32]
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
    ids = np.where(seen, buffer & (2**_ID_BITS - 1), -1).astype(np.int32)
    depth = (buffer >> _ID_BITS).astype(np.float32)
    return Raster(size_px, ids, np.where(seen, high - depth / step, 0).astype(np.float32))


def count_samples(triangles: Triangles, projection: Projection) -> float:
    """Return about how many pixels drawing would touch, hidden ones included."""
    total = 0.0
    for start in range(0, len(triangles), CHUNK):
        x, y, _ = projection(triangles[start : start + CHUNK])
        area = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0])
        rows = highest(y) - lowest(y)
        total += float(np.abs(area).sum(dtype=np.float64)) / 2 + float(rows.sum(dtype=np.float64))
    return total


def _draw(buffer: Integers, size_px: int, x: Floats, y: Floats, depth: Floats, first_id: int) -> None:
    first_row = np.ceil(lowest(y) - 0.5)
    rows = np.ceil(highest(y) - 0.5) - first_row
    columns = np.ceil(highest(x) - 0.5) - np.ceil(lowest(x) - 0.5)
    drawn = np.flatnonzero((rows > 0) & (columns > 0))
    if not len(drawn):
        return
    edges = _Edges.of(x[drawn].T.copy(), y[drawn].T.copy(), depth[drawn].T.copy())
    counts, first_row = rows[drawn].astype(np.int64), first_row[drawn].astype(np.int64)
    for part in _batches(counts):
        owner, step = _expanded(counts[part])
        rows_of = _Rows(owner + part.start, first_row[part][owner] + step)
        _draw_rows(buffer, size_px, edges, rows_of, drawn + first_id)


@dataclass(frozen=True)
class _Edges:
    """Triangles with their corners sorted from top to bottom, and how x and depth change along them."""

    x: tuple[Floats, Floats]
    """Of the top and of the middle corner; likewise below."""
    y: tuple[Floats, Floats]
    depth: Floats
    nearest: Floats
    farthest: Floats
    long: Floats
    upper: Floats
    lower: Floats
    across: Floats
    down: Floats

    @classmethod
    def of(cls, x: Floats, y: Floats, depth: Floats) -> _Edges:
        """Take x, y and depth of the corners, (3, n) each."""
        for above, below in ((0, 1), (1, 2), (0, 1)):
            _exchange(y[above] > y[below], (x, y, depth), above, below)

        def slope(a: int, b: int) -> Floats:
            return (x[b] - x[a]) / np.maximum(y[b] - y[a], 1e-12)

        x1, x2, y1, y2 = x[1] - x[0], x[2] - x[0], y[1] - y[0], y[2] - y[0]
        z1, z2 = depth[1] - depth[0], depth[2] - depth[0]
        area = x1 * y2 - x2 * y1
        area[area == 0] = 1e-12
        return cls(
            (x[0], x[1]), (y[0], y[1]), depth[0], depth.min(axis=0), depth.max(axis=0),
            slope(0, 2), slope(0, 1), slope(1, 2),
            (z1 * y2 - z2 * y1) / area, (x1 * z2 - x2 * z1) / area,
        )  # fmt: skip


def _exchange(chosen: Flags, parts: tuple[Floats, ...], one: int, other: int) -> None:
    """Exchange two corners of the chosen triangles."""
    for part in parts:
        first, second = part[one], part[other]
        part[one], part[other] = np.where(chosen, second, first), np.where(chosen, first, second)


def _draw_rows(buffer: Integers, size_px: int, edges: _Edges, rows: _Rows, ids: Integers) -> None:
    owner, y = rows.owner, rows.row.astype(np.float32) + 0.5
    from_top, from_middle = y - edges.y[0][owner], y - edges.y[1][owner]
    top = edges.x[0][owner]
    one = top + from_top * edges.long[owner]
    other = edges.x[1][owner] + from_middle * edges.lower[owner]
    np.copyto(other, top + from_top * edges.upper[owner], where=np.less(from_middle, 0))
    first = np.clip(np.ceil(np.minimum(one, other) - 0.5), 0, size_px).astype(np.int64)
    last = np.clip(np.ceil(np.maximum(one, other) - 0.5), 0, size_px).astype(np.int64)
    lengths = np.where((rows.row >= 0) & (rows.row < size_px), last - first, 0)
    kept = np.flatnonzero(lengths)
    owner, first, lengths = owner[kept], first[kept], lengths[kept]
    slope, key = edges.across[owner], ids[owner]
    lead = first.astype(np.float32) + 0.5 - top[kept]
    depth = edges.depth[owner] + lead * slope + from_top[kept] * edges.down[owner]
    place = rows.row[kept] * size_px + first
    nearest, farthest = edges.nearest[owner], edges.farthest[owner]
    for part in _batches(lengths):
        line, step = _expanded(lengths[part])
        value = depth[part][line] + step.astype(np.float32) * slope[part][line]
        # A sliver's slope is noise: its depth stays between those of its corners.
        value = np.clip(value, nearest[part][line], farthest[part][line])
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
