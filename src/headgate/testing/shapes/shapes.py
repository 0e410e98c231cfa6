"""Shapes that people would print: mechanical parts, ornaments, terrain and buildings, each by its name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from headgate.testing.shapes.surfaces import (
    Points,
    Triangles,
    box,
    joined,
    lathe,
    moved,
    ring,
    surface,
    turned,
)

Cells = NDArray[np.bool_]
_GLYPHS = {
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "D": "11110 10001 10001 10001 10001 10001 11110",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "G": "01111 10000 10000 10011 10001 10001 01111",
    "H": "10001 10001 10001 11111 10001 10001 10001",
    "T": "11111 00100 00100 00100 00100 00100 00100",
}


def sphere(*, triangles: int = 20_000, radius: float = 20) -> Triangles:
    rows = max(4, round((triangles / 4) ** 0.5))
    angle = np.linspace(-np.pi / 2, np.pi / 2, rows + 1)
    return lathe([(radius * float(np.cos(a)), radius * float(np.sin(a))) for a in angle], segments=2 * rows)


def gear(*, teeth: int = 24, radius: float = 30, height: float = 8) -> Triangles:
    """Return a gear with a bore, spokes and a hub."""
    angle = np.linspace(0, 2 * np.pi, teeth * 16, endpoint=False)
    tooth = np.clip(2.4 * np.sin(angle * teeth), -1, 1)
    outer = _outline(angle, radius + 2.2 * tooth)
    rim = ring(outer, _outline(angle, np.full_like(angle, radius * 0.8)), height=height)
    hub_outer = _outline(angle, np.full_like(angle, radius * 0.32))
    hub = ring(hub_outer, _outline(angle, np.full_like(angle, radius * 0.16)), height=height * 1.4)
    spoke = box((radius * 0.56, radius * 0.16, height * 0.6), (radius * 0.56, 0, height * 0.2))
    return joined(rim, hub, *(turned(spoke, degrees=60.0 * n) for n in range(6)))


def knot(*, p: int = 2, q: int = 3, triangles: int = 48_000) -> Triangles:
    """Return a torus knot that stands on its edge."""
    sides = 32
    t = np.linspace(0, 2 * np.pi, max(16, triangles // (2 * sides)), endpoint=False)
    radius = 20 + 8 * np.cos(q * t)
    centre = np.stack([radius * np.cos(p * t), radius * np.sin(p * t), 8 * np.sin(q * t)], axis=-1)
    tangent = _unit(np.roll(centre, -1, axis=0) - np.roll(centre, 1, axis=0))
    first = _unit(np.cross(tangent, np.array([0.0, 0.0, 1.0])))
    second = np.cross(tangent, first)
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)[None, :, None]
    tube = centre[:, None] + 4.2 * (np.cos(angle) * first[:, None] + np.sin(angle) * second[:, None])
    return turned(surface(tube, wrap_rows=True, wrap_columns=True), degrees=75, around=0)


def terrain(*, side: int = 160) -> Triangles:
    """Return a tile of mountains with a flat base."""
    x, y = np.meshgrid(np.linspace(-50, 50, side), np.linspace(-50, 50, side), indexing="ij")
    height = np.zeros_like(x)
    for octave in range(7):
        step, turn = 0.035 * 1.83**octave, 0.9 * octave
        u, v = x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)
        ridge = 1 - np.abs(np.sin(step * u + 1.3 * octave + 0.6 * np.sin(step * v)))
        height += 15 * 0.5**octave * ridge * (0.3 + 0.7 * height / 15 if octave else 1)
    height = 2 + 1.25 * np.maximum(height - height.min() - 3, 0)
    top = np.stack([x, y, height], axis=-1)
    floor = top * (1, 1, 0)
    walls = [np.stack([floor[edge], top[edge]]) for edge in (np.s_[0], np.s_[:, -1], np.s_[-1], np.s_[:, 0])]
    walls = [walls[0][::-1], walls[1][::-1], walls[2], walls[3]]
    return joined(surface(top[::-1]), surface(floor), *(surface(wall) for wall in walls))


def vase(*, segments: int = 240) -> Triangles:
    """Return a twisted planter with thin walls, open at the top."""
    height = np.linspace(0, 70, 140)
    angle = np.linspace(0, 2 * np.pi, segments, endpoint=False)

    def shell(offset: float, heights: Points) -> Points:
        radius = 18 + 8 * np.sin(heights / 22)[:, None] - offset
        swirl = angle[None] + 0.02 * heights[:, None]
        radius = radius + 1.6 * np.sin(swirl * 6) ** 2
        levels = np.broadcast_to(heights[:, None], radius.shape)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle), levels], axis=-1)

    outer, inner = shell(0, height), shell(1.2, np.maximum(height, 1.5))
    centre = np.zeros_like(outer[:1])
    floor = np.broadcast_to(np.array([0.0, 0.0, 1.5]), centre.shape)
    return surface(np.concatenate([centre, outer, inner[::-1], floor]), wrap_columns=True)


def sponge(*, level: int = 3, size: float = 54) -> Triangles:
    """Return a Menger sponge, with the faces that can be seen alone."""
    cells = 3**level
    solid: Cells = np.ones((cells, cells, cells), dtype=np.bool_)
    for scale in (3**n for n in range(level)):
        middle = np.isin(np.arange(cells, dtype=np.int64) // scale % 3, 1)
        two = middle[:, None] & middle[None]
        solid = solid & ~(two[:, :, None] | two[:, None, :] | two[None])
    return _voxels(solid, size / cells)


def letters(text: str = "HEADGATE") -> Triangles:
    """Return a name plate with raised letters."""
    cells = [
        (6 * place + column, 6 - row)
        for place, letter in enumerate(text)
        for row, line in enumerate(_GLYPHS[letter].split())
        for column, mark in enumerate(line)
        if mark == "1"
    ]
    width = 6 * len(text) + 1
    blocks = [box((2, 2, 3), (2 * x - width + 2.5, 2.0 * y - 6, 2)) for x, y in cells]
    return turned(joined(box((2 * width + 4, 20, 2)), *blocks), degrees=65, around=0)


def organic(*, triangles: int = 500_000) -> Triangles:
    """Return a dense coral-like body, as sculpting programs make them."""
    rows = max(8, round((triangles / 4) ** 0.5))
    polar, around = np.meshgrid(
        np.linspace(0, np.pi, rows + 1), np.linspace(0, 2 * np.pi, 2 * rows, endpoint=False), indexing="ij"
    )
    unit = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), -np.cos(polar)], axis=-1)
    x, y, z = np.moveaxis(unit, -1, 0)
    bumps = 0.30 * np.sin(3 * x + 1) * np.sin(4 * y + 2 * z) + 0.12 * np.sin(9 * z + 5 * x) * np.cos(8 * y)
    wrinkles = 0.035 * np.abs(np.sin(24 * x + 9 * bumps) + np.sin(26 * y) + np.sin(25 * z))
    radius = 24 * (1 + bumps + wrinkles)
    return surface(unit * radius[..., None] * (1, 1, 1.25), wrap_columns=True)


def pawn() -> Triangles:
    """Return a pawn of a game of chess."""
    neck = [(4.2 + 3.6 * (1 - t) ** 2, 8 + 15 * t) for t in np.linspace(0, 1, 24).tolist()]
    angle = np.linspace(-1.05, np.pi / 2, 32)
    head = [(6.2 * float(np.cos(a)), 30.4 + 6.2 * float(np.sin(a))) for a in angle]
    foot = [(0.0, 0.0), (11, 0), (11, 2.5), (10, 3.5), (9.6, 6), (8.2, 7.2)]
    return lathe([*foot, *neck, (6.6, 23.4), (6.6, 24.6), (3.4, 25.2), *head])


def watchtower() -> Triangles:
    """Return a round tower with battlements, buttresses and a door."""
    body = lathe(
        [(0, 0), (17, 0), (17, 3), (14, 6), (12.5, 48), (15.5, 53), (15.5, 57), (13, 57), (13, 54), (0, 54)]
    )
    tooth = box((3, 5, 4), (14.2, 0, 57))
    buttress = box((6, 4, 26), (13.5, 0, 0))
    window = box((3, 3, 6), (12.6, 0, 34))
    crown = [turned(tooth, degrees=36.0 * n) for n in range(10)]
    braces = [turned(buttress, degrees=45 + 90.0 * n) for n in range(4)]
    openings = [turned(window, degrees=30 + 60.0 * n) for n in range(6)]
    door = joined(box((9, 4, 14), (0, -14.5, 0)), box((11, 3, 2), (0, -15, 14)))
    return joined(body, door, *crown, *braces, *openings)


def chest() -> Triangles:
    """Return a chest with a vaulted lid and iron bands."""
    angle = np.linspace(0, np.pi, 40)

    def lid(radius: float, width: float, at: float) -> Triangles:
        arc = np.stack(
            [np.zeros_like(angle), radius * np.cos(angle), 18 + 0.8 * radius * np.sin(angle)], axis=-1
        )
        start, end = np.array([at - width / 2, 0, 0]), np.array([at + width / 2, 0, 0])
        middle = np.broadcast_to(np.array([0.0, 0.0, 18.0]), arc.shape)
        ends = [middle + start, arc + start, arc + end, middle + end]
        return surface(np.stack(ends), wrap_columns=True)

    bands = [joined(lid(13.4, 3, at), box((3, 26.8, 18), (at, 0, 0))) for at in (-16.0, 0.0, 16.0)]
    lock = box((6, 3, 8), (0, -13.5, 13))
    return joined(box((44, 26, 18)), lid(13, 44, 0), box((45, 27, 2)), lock, *bands)


def bracket() -> Triangles:
    """Return a mounting bracket: two plates, ribs and bosses with bores."""
    angle = np.linspace(0, 2 * np.pi, 96, endpoint=False)
    boss = ring(
        _outline(angle, np.full_like(angle, 6.0)), _outline(angle, np.full_like(angle, 3.2)), height=4
    )
    plates = joined(box((60, 40, 4)), box((60, 4, 36), (0, 18, 4)))
    rib = _prism(np.array([(0.0, 16.0, 4.0), (0.0, -12.0, 4.0), (0.0, 16.0, 30.0)]), width=4)
    bosses = [moved(boss, (x, -8, 4)) for x in (-15.0, 15.0)]
    upright = [moved(turned(boss, degrees=90, around=0), (x, 16, 26)) for x in (-15.0, 15.0)]
    return joined(plates, moved(rib, (-28, 0, 0)), rib, moved(rib, (28, 0, 0)), *bosses, *upright)


SHAPES: dict[str, Callable[[], Triangles]] = {
    shape.__name__: shape
    for shape in (
        sphere, gear, knot, terrain, vase, sponge, letters, organic, pawn, watchtower, chest, bracket,
    )
}  # fmt: skip
"""Every shape by its name."""


def _outline(angle: Points, radius: Points) -> Points:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _unit(vectors: Points) -> Points:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _prism(corners: Points, *, width: float) -> Triangles:
    """Return a triangle of the YZ plane with a width along X."""
    half = np.array([width / 2, 0, 0])
    sides = np.stack([corners - half, corners + half], axis=1)
    caps = np.stack([corners - half, corners[::-1] + half])
    return joined(surface(sides, wrap_rows=True), caps.astype(np.float32))


def _voxels(solid: Cells, size: float) -> Triangles:
    """Return the outer faces of the solid cells."""
    padded = np.pad(solid, 1)
    faces: list[Triangles] = []
    for axis, side in product(range(3), (0, 1)):
        open_to = ~np.roll(padded, -1 if side else 1, axis=axis)
        cells = np.argwhere(padded & open_to) - 1
        u, v = [other for other in range(3) if other != axis]
        corners = np.zeros((4, 3))
        corners[:, axis] = side
        corners[[1, 2], u] = 1
        corners[[2, 3], v] = 1
        quads = (cells[:, None] + corners[None]) * size
        order = [0, 1, 2, 0, 2, 3] if (side == 1) == (axis != 1) else [0, 2, 1, 0, 3, 2]
        faces.append(quads[:, order].reshape(-1, 3, 3).astype(np.float32))
    return joined(*faces)
