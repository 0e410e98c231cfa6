"""Drawing models: what is seen, how it is lit, that it fits, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.ingest.pictures.meshes.mesh import prepared
from headgate.ingest.pictures.problems import PictureProblem
from headgate.ingest.pictures.render.arrays import CHUNK, Floats, Triangles, dot, face_normals
from headgate.ingest.pictures.render.camera import fit
from headgate.ingest.pictures.render.grid import Grid
from headgate.ingest.pictures.render.light import reached_by_key_light
from headgate.ingest.pictures.render.normals import corner_normals
from headgate.ingest.pictures.render.rasterise import Raster, rasterise
from headgate.ingest.pictures.render.render import MARGIN, Pixels, render
from headgate.ingest.pictures.render.shading import KEY
from headgate.ingest.pictures.render.surface import Surface
from headgate.ingest.pictures.render.view import choose_camera
from headgate.testing.shapes.files import binary_stl
from headgate.testing.shapes.shapes import SHAPES, organic, sphere
from headgate.testing.shapes.surfaces import box, joined

pytestmark = pytest.mark.once

SIZE = 128


def _drawn(triangles: Triangles, size_px: int = SIZE) -> Pixels:
    return render(prepared(triangles.copy()), size_px=size_px)


def _solid(picture: Pixels) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return the pixels of the model itself; its shadow is less opaque."""
    return picture[..., 3] > 250


def _brightness(picture: Pixels) -> Floats:
    return picture[..., :3].astype(np.float32).mean(axis=-1)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "organic"])
def test_every_shape_fits_the_frame_with_a_margin(name: str) -> None:
    solid = _solid(_drawn(SHAPES[name]()))
    rows, columns = np.flatnonzero(solid.any(axis=1)), np.flatnonzero(solid.any(axis=0))
    margin = SIZE * MARGIN
    low, high = min(rows[0], columns[0]), max(rows[-1], columns[-1])
    assert low >= margin - 2
    assert high <= SIZE - margin + 1
    assert max(np.ptp(rows), np.ptp(columns)) > SIZE - 2 * margin - 4, "the longer side fills the frame"
    assert 0.05 < solid.mean() < 0.9


def test_the_background_is_transparent_and_the_shadow_lies_below() -> None:
    picture = _drawn(sphere())
    opacity = picture[..., 3]
    assert opacity[0].max() == opacity[:, 0].max() == opacity[:, -1].max() == 0
    assert opacity[-2:].max() < 40, "the shadow ends before the border"
    shadow = (opacity > 8) & (opacity < 180)
    assert shadow[: SIZE // 2].sum() < shadow[SIZE // 2 :].sum() / 2
    assert np.median(picture[shadow][:, :3]) < 10, "a shadow is black"


def test_the_side_towards_the_light_is_brighter() -> None:
    picture = _drawn(sphere())
    bright = _brightness(picture)
    third = SIZE // 3
    assert bright[third, third] > bright[2 * third, 2 * third] + 30
    assert bright[third, third] > 150
    assert bright[2 * third, 2 * third] > 40, "the dark side is not black"


def test_a_round_surface_of_few_triangles_is_shaded_smoothly() -> None:
    """Flat shading of 15-degree facets steps by more than 10 levels from one to the next."""
    picture = _drawn(sphere(triangles=600), size_px=256)
    middle = _brightness(picture)[128, 60:196]
    assert np.abs(np.diff(middle)).max() < 6


def test_creases_are_darker_than_open_faces() -> None:
    corner = joined(box((40, 40, 4)), box((40, 4, 40), (0, 18, 0)))
    picture = _drawn(corner, size_px=192)
    floor_only = _drawn(box((40, 40, 4)), size_px=192)
    solid, bright = _solid(picture), _brightness(picture)
    assert bright[solid].min() < _brightness(floor_only)[_solid(floor_only)].min()


def _key_light(triangles: Triangles) -> tuple[Floats, Grid]:
    ready = prepared(triangles.copy())
    camera = fit(choose_camera(ready), ready, size_px=SIZE, margin=MARGIN)
    raster = rasterise(ready, camera.project, size_px=SIZE, nearness=camera.nearness_range)
    grid = Grid.of(Surface(ready, corner_normals(ready), camera, raster), step=1)
    return reached_by_key_light(ready, camera, grid)[grid.seen], grid


@pytest.mark.parametrize("name", ["sphere", "pawn", "chest"])
def test_no_surface_shades_itself(name: str) -> None:
    """Only where the light falls flat may a round surface begin to shade itself."""
    reached, grid = _key_light(SHAPES[name]())
    facing = dot(grid.normals[grid.seen], KEY) > 0.4
    assert np.percentile(reached[facing], 5 if name == "sphere" else 25) > 0.95


def test_what_stands_in_the_light_casts_a_shadow() -> None:
    floor = box((60, 60, 2))
    reached, grid = _key_light(joined(floor, box((16, 16, 2), (0, 0, 25))))
    alone, _ = _key_light(floor)
    facing = dot(grid.normals[grid.seen], KEY) > 0.4
    assert (reached[facing] < 0.1).mean() > 0.02
    assert (reached[facing] > 0.9).mean() > 0.5
    assert np.percentile(alone, 20) > 0.9


def test_equal_models_give_equal_pixels() -> None:
    assert np.array_equal(_drawn(SHAPES["gear"]()), _drawn(SHAPES["gear"]()))


def test_the_order_of_the_triangles_does_not_matter() -> None:
    triangles = SHAPES["knot"]()
    shuffled = triangles[np.argsort(np.arange(len(triangles)) * 7919 % len(triangles), kind="stable")]
    one, other = _drawn(triangles), _drawn(shuffled)
    assert np.array_equal(one[..., 3], other[..., 3])
    assert np.abs(one.astype(np.int16) - other.astype(np.int16)).max() <= 2


def test_faces_that_point_the_wrong_way_look_the_same() -> None:
    triangles = SHAPES["pawn"]()
    one, other = _drawn(triangles), _drawn(triangles[:, ::-1])
    assert np.abs(one.astype(np.int16) - other.astype(np.int16)).max() <= 2


def test_a_model_looks_the_same_at_every_scale_and_far_from_the_origin() -> None:
    triangles = SHAPES["watchtower"]()
    usual = _drawn(triangles).astype(np.int16)
    for other in (triangles * 1e-5, triangles * 1e6, triangles + np.float32(3000)):
        difference = np.abs(usual - _drawn(other).astype(np.int16))
        assert np.percentile(difference, 99) <= 4


def test_a_round_solid_has_no_holes() -> None:
    for triangles in (300, 20_000, 4 * CHUNK):
        solid = _solid(_drawn(sphere(triangles=triangles)))
        for row in solid[solid.any(axis=1)]:
            assert np.ptp(np.flatnonzero(row)) + 1 == row.sum()


def test_what_lies_flat_is_seen_from_above_and_what_stands_is_not() -> None:
    lying = choose_camera(prepared(box((60, 60, 2))))
    standing = choose_camera(prepared(box((20, 20, 70))))
    assert lying.forward[2] < standing.forward[2] < 0


def test_the_broad_side_faces_the_viewer() -> None:
    wide = choose_camera(prepared(box((80, 20, 40))))
    deep = choose_camera(prepared(box((20, 80, 40))))
    assert abs(wide.forward[1]) > abs(wide.forward[0])
    assert abs(deep.forward[0]) > abs(deep.forward[1])


def test_a_corner_of_a_box_keeps_the_normals_of_its_faces() -> None:
    normals = corner_normals(box((2, 2, 2)))
    assert np.allclose(np.abs(normals).max(axis=-1), 1)


def test_a_corner_of_a_ball_points_outward() -> None:
    ball = sphere(triangles=2000)
    ball = ball[np.linalg.norm(face_normals(ball), axis=-1) > 1e-3]  # at the poles two corners are one
    normals = corner_normals(ball)
    outward = ball / np.linalg.norm(ball, axis=-1, keepdims=True)
    assert (normals * outward).sum(axis=-1).min() > 0.98


# ---- the rasteriser by itself


def _plane(x: list[float], y: list[float], near: list[float] | None = None) -> Triangles:
    return np.array([list(zip(x, y, near or [0.5] * 3, strict=True))], dtype=np.float32)


def _straight(triangles: Triangles) -> tuple[Floats, Floats, Floats]:
    return triangles[..., 0], triangles[..., 1], triangles[..., 2]


def _raster(triangles: Triangles, size_px: int = 64) -> Raster:
    return rasterise(triangles, _straight, size_px=size_px, nearness=(0.0, 1.0))


def test_the_nearer_triangle_hides_the_farther() -> None:
    far, near = _plane([0, 64, 0], [0, 0, 64], [0.2] * 3), _plane([0, 64, 0], [0, 0, 64], [0.8] * 3)
    for order, nearest in (([far, near], 1), ([near, far], 0)):
        ids = _raster(np.concatenate(order)).ids
        assert set(ids.tolist()) == {-1, nearest}


def test_the_farthest_and_the_nearest_depth_are_both_drawn() -> None:
    """At the ends of the range a rounded depth must not spill into its sign."""
    far, near = _plane([0, 64, 0], [0, 0, 64], [0.0] * 3), _plane([0, 64, 0], [0, 0, 64], [1.0] * 3)
    for order, nearest in (([far, near], 1), ([near, far], 0)):
        raster = _raster(np.concatenate(order))
        assert set(raster.ids.tolist()) == {-1, nearest}
        assert raster.nearness.max() == pytest.approx(1)


def test_triangles_that_cross_each_show_their_nearer_half() -> None:
    one = _plane([0, 128, 0], [0, 0, 128], [0.1, 0.9, 0.1])
    other = _plane([0, 128, 0], [0, 0, 128], [0.5, 0.5, 0.5])
    ids = _raster(np.concatenate([one, other])).ids.reshape(64, 64)
    assert ids[10, 5] == 1
    assert ids[10, 62] == 1
    steep = _raster(np.concatenate([_plane([0, 64, 0], [0, 0, 64], [0.1, 0.9, 0.1]), other])).ids.reshape(
        64, 64
    )
    assert steep[1, 5] == 1
    assert steep[1, 60] == 0


coordinates = st.floats(-20, 84, width=32)


@settings(max_examples=200, deadline=None)
@given(points=st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=3))
def test_a_triangle_covers_the_pixels_whose_middle_it_contains(points: list[tuple[float, float]]) -> None:
    x, y = [point[0] for point in points], [point[1] for point in points]
    covered = (_raster(_plane(x, y)).ids >= 0).reshape(64, 64)
    columns, rows = np.meshgrid(np.arange(64) + 0.5, np.arange(64) + 0.5)
    sides = [
        (x[b] - x[a]) * (rows - y[a]) - (y[b] - y[a]) * (columns - x[a]) for a, b in ((0, 1), (1, 2), (2, 0))
    ]
    doubtful = np.min(np.abs(sides), axis=0) < 0.05  # on an edge, where rounding decides
    inside = np.all(np.greater(sides, 0), axis=0) | np.all(np.less(sides, 0), axis=0)
    assert np.array_equal(covered[~doubtful], inside[~doubtful])


@settings(max_examples=200, deadline=None)
@given(
    points=st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=6),
    fan=st.tuples(coordinates, coordinates),
)
def test_triangles_that_share_edges_leave_no_gap_and_overlap_nowhere(
    points: list[tuple[float, float]], fan: tuple[float, float]
) -> None:
    """A square is cut at points inside of it; each pixel belongs to exactly one piece."""
    corners = [(-30.0, -30.0), (94.0, -30.0), (94.0, 94.0), (-30.0, 94.0)]
    pieces = [(a, b, fan) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]
    for point in points:
        home = next((piece for piece in pieces if _contains(piece, point)), None)
        if home is None:
            continue
        pieces.remove(home)
        a, b, c = home
        pieces += [(a, b, point), (b, c, point), (c, a, point)]
    triangles = [_plane([p[0] for p in piece], [p[1] for p in piece]) for piece in pieces]
    counts = sum((_raster(triangle).ids >= 0).astype(np.int64) for triangle in triangles)
    assert set(np.asarray(counts).tolist()) == {1}


def _contains(piece: tuple[tuple[float, float], ...], point: tuple[float, float]) -> bool:
    sides = [
        (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])
        for a, b in zip(piece, piece[1:] + piece[:1], strict=True)
    ]
    return all(side > 20 for side in sides) or all(side < -20 for side in sides)


def test_a_triangle_that_is_seen_from_its_edge_is_not_drawn() -> None:
    assert (_raster(_plane([1, 30, 60], [1, 30, 60])).ids == -1).all()


def test_more_rows_than_fit_a_batch_are_drawn_all_the_same() -> None:
    """Needles as high as the picture: many rows for every triangle."""
    count, size = 3000, 512
    x = np.linspace(0, size, count, dtype=np.float32)
    triangles = np.zeros((count, 3, 3), dtype=np.float32)
    triangles[..., 0] = x[:, None] + np.array([0, 2, 1], dtype=np.float32)
    triangles[..., 1] = np.array([0, 0, size], dtype=np.float32)
    triangles[..., 2] = 0.5
    ids = rasterise(triangles, _straight, size_px=size, nearness=(0.0, 1.0)).ids.reshape(size, size)
    assert (ids[0] >= 0).all()


# ---- limits


def test_a_pile_of_surfaces_is_refused_by_name() -> None:
    sheet = box((40, 40, 40))
    with pytest.raises(PictureProblem) as raised:
        _drawn(joined(*([sheet] * 600)), size_px=512)
    assert raised.value.reason == "too_complex"


def test_a_model_that_is_seen_nowhere_is_empty() -> None:
    line = np.array([[[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5]]], dtype=np.float32)
    with pytest.raises(PictureProblem) as raised:
        _drawn(line)
    assert raised.value.reason == "empty_model"


_MEASURE = """
import sys
from pathlib import Path
from headgate.ingest.pictures.models import draw_model
source = Path(sys.argv[1])
drawn = draw_model(source, source.parent, model_format="stl", size_px=512)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(drawn.triangles, peak)
"""


@pytest.mark.long
@pytest.mark.parametrize("triangles", [500_000, 2_000_000])
def test_memory_stays_bounded_for_dense_models(tmp_path: Path, triangles: int) -> None:
    (tmp_path / "dense.stl").write_bytes(binary_stl(organic(triangles=triangles)))
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path / "dense.stl")],
        capture_output=True,
        text=True,
        check=True,
    )
    drawn, peak_kib = (int(word) for word in done.stdout.split())
    assert drawn > 0.99 * triangles
    assert peak_kib < 300_000


_MEASURE_CPU = """
import sys, time
from pathlib import Path
from headgate.ingest.pictures.models import draw_model
spent = []
for _ in range(3):
    began = time.process_time()
    draw_model(Path(sys.argv[1]), Path(sys.argv[1]).parent, model_format="stl")
    spent.append(time.process_time() - began)
print(min(spent))
"""
MAX_CPU_S = 2.0


def _cpu_s(folder: Path, *, triangles: int) -> float:
    """Return the CPU time of drawing a model, the least of three: others on the machine must not decide."""
    folder.mkdir()
    (folder / "dense.stl").write_bytes(binary_stl(organic(triangles=triangles)))
    command = [sys.executable, "-c", _MEASURE_CPU, str(folder / "dense.stl")]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.long
def test_a_picture_of_a_dense_model_costs_two_seconds_of_the_processor_at_most(tmp_path: Path) -> None:
    spent_s = _cpu_s(tmp_path / "dense", triangles=500_000)
    assert spent_s < MAX_CPU_S
    # Four times the triangles cost four times as much at most, on a machine of any speed.
    assert _cpu_s(tmp_path / "denser", triangles=2_000_000) < 4 * spent_s


def test_fitting_centres_a_lopsided_model() -> None:
    triangles = prepared(joined(box((2, 2, 2)), box((10, 1, 1), (30, 0, 0))))
    camera = fit(choose_camera(triangles), triangles, size_px=100, margin=0.1)
    x, y, _ = camera.project(triangles)
    assert float(x.min() + x.max()) == pytest.approx(100, abs=0.1)
    assert float(y.min() + y.max()) == pytest.approx(100, abs=0.1)
