"""Shapes: closed solids with outward faces, and files that hold them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from headgate.testing.shapes.files import ascii_stl, binary_stl, obj, three_mf
from headgate.testing.shapes.shapes import SHAPES, organic, sphere
from headgate.testing.shapes.surfaces import Triangles, box

pytestmark = pytest.mark.once


def _volume(triangles: Triangles) -> float:
    """Return the volume inside the faces; those that face inward count against it."""
    a, b, c = np.moveaxis(triangles.astype(np.float64), 1, 0)
    return float((a * np.cross(b, c)).sum()) / 6


@pytest.mark.parametrize("name", SHAPES)
def test_the_faces_of_every_shape_look_outward(name: str) -> None:
    triangles = SHAPES[name]()
    assert np.isfinite(triangles).all()
    assert triangles.dtype == np.float32
    assert _volume(triangles) > 0


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_closed(name: str) -> None:
    """The areas of a closed surface, as vectors, add up to nothing."""
    triangles = SHAPES[name]().astype(np.float64)
    areas = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    total = np.linalg.norm(areas, axis=1).sum()
    assert np.abs(areas.sum(axis=0)).max() < 0.002 * total


def test_volumes_are_right() -> None:
    assert _volume(box((2, 3, 4))) == pytest.approx(24)
    assert _volume(sphere(triangles=20_000, radius=10)) == pytest.approx(4 / 3 * np.pi * 1000, rel=0.01)


def test_a_shape_is_as_dense_as_asked_for() -> None:
    assert len(organic(triangles=50_000)) == pytest.approx(50_000, rel=0.02)


@pytest.mark.parametrize("write", [binary_stl, ascii_stl, obj, three_mf])
def test_equal_shapes_give_equal_files(write: Callable[[Triangles], bytes]) -> None:
    assert write(SHAPES["chest"]()) == write(SHAPES["chest"]())
