"""Models: every format gives the same picture, and every broken file a named problem."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from headgate.ingest.pictures.meshes import mesh
from headgate.ingest.pictures.meshes.mesh import MAX_TRIANGLES, prepared
from headgate.ingest.pictures.meshes.obj import read_obj
from headgate.ingest.pictures.meshes.stl import read_stl
from headgate.ingest.pictures.meshes.three_mf import read_three_mf
from headgate.ingest.pictures.models import ModelFormat, draw_model, take_thumbnail
from headgate.ingest.pictures.problems import PictureProblem
from headgate.testing.shapes.files import ascii_stl, binary_stl, obj, three_mf
from headgate.testing.shapes.shapes import SHAPES, sphere
from headgate.testing.shapes.surfaces import Triangles, box

pytestmark = pytest.mark.once

CHEST = SHAPES["chest"]()


def _reason(tmp_path: Path, content: bytes, model_format: ModelFormat = "stl") -> str:
    source = tmp_path / f"model.{model_format}"
    source.write_bytes(content)
    with pytest.raises(PictureProblem) as raised:
        draw_model(source, tmp_path, model_format=model_format, size_px=64)
    return raised.value.reason


def _stl_of(triangles: Triangles, tmp_path: Path) -> Triangles:
    (tmp_path / "model.stl").write_bytes(binary_stl(triangles))
    return read_stl(tmp_path / "model.stl")


@pytest.mark.parametrize(
    ("write", "model_format"),
    [(binary_stl, "stl"), (ascii_stl, "stl"), (obj, "obj"), (three_mf, "3mf")],
    ids=["binary", "text", "obj", "3mf"],
)
def test_every_format_gives_the_same_picture(
    tmp_path: Path, write: Callable[[Triangles], bytes], model_format: ModelFormat
) -> None:
    (tmp_path / "model").write_bytes(write(CHEST))
    drawn = draw_model(tmp_path / "model", tmp_path, model_format=model_format, size_px=96)
    assert drawn.triangles == len(CHEST)
    assert drawn.previews.is_transparent
    (tmp_path / "usual").mkdir()
    (tmp_path / "usual" / "model").write_bytes(binary_stl(CHEST))
    draw_model(tmp_path / "usual" / "model", tmp_path / "usual", model_format="stl", size_px=96)
    name = drawn.previews.files[0].name
    with Image.open(tmp_path / name) as one, Image.open(tmp_path / "usual" / name) as other:
        difference = np.abs(np.asarray(one, dtype=np.int16) - np.asarray(other, dtype=np.int16))
    assert np.percentile(difference, 99) <= 12


def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "model.stl").write_bytes(binary_stl(CHEST))
    written: list[bytes] = []
    for _ in range(2):
        drawn = draw_model(tmp_path / "model.stl", tmp_path, model_format="stl", size_px=96)
        written.append((tmp_path / drawn.previews.files[0].name).read_bytes())
    assert written[0] == written[1]


# ---- STL


def test_a_binary_file_may_begin_with_solid(tmp_path: Path) -> None:
    content = b"solid by somebody".ljust(80) + binary_stl(CHEST)[80:]
    (tmp_path / "model.stl").write_bytes(content)
    assert np.array_equal(read_stl(tmp_path / "model.stl"), CHEST)


def test_bytes_after_the_last_triangle_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "model.stl").write_bytes(binary_stl(CHEST) + b"made with love")
    assert np.array_equal(read_stl(tmp_path / "model.stl"), CHEST)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_text_may_end_its_lines_in_any_way_and_shout(tmp_path: Path, ending: bytes) -> None:
    (tmp_path / "model.stl").write_bytes(ascii_stl(CHEST).upper().replace(b"\n", ending))
    assert np.allclose(read_stl(tmp_path / "model.stl"), CHEST, atol=1e-3)


def test_text_of_many_blocks_loses_no_corner(tmp_path: Path) -> None:
    ball = sphere(triangles=30_000)
    (tmp_path / "model.stl").write_bytes(ascii_stl(ball))
    assert (tmp_path / "model.stl").stat().st_size > 2 * 2**21
    assert np.allclose(read_stl(tmp_path / "model.stl"), ball, atol=1e-3)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "damaged"),
        (b"solid", "empty_model"),
        (b"solid nothing\nendsolid nothing\n", "empty_model"),
        (bytes(84), "empty_model"),
        (bytes(40), "damaged"),
        (binary_stl(CHEST)[:-30], "damaged"),
        (binary_stl(CHEST)[:5000], "damaged"),
        (bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(500), "damaged"),
        (ascii_stl(CHEST)[:4000].rpartition(b"vertex")[0], "damaged"),
        (b"solid x\nvertex 1 2\nvertex 1 2 3\nvertex 1 2 3\n", "damaged"),
        (b"solid x\nvertex 1 2 three\nvertex 1 2 3\nvertex 1 2 3\n", "damaged"),
        (b"solid x " + b"y" * (5 * 2**20), "damaged"),
        (binary_stl(np.zeros((20, 3, 3), dtype=np.float32)), "empty_model"),
        (binary_stl(np.full((20, 3, 3), np.nan, dtype=np.float32)), "damaged"),
        (binary_stl(np.full((20, 3, 3), np.inf, dtype=np.float32)), "damaged"),
        (binary_stl(CHEST * np.float32(1e30)), "damaged"),
        (b"PK\x03\x04 this is a zip" + bytes(100), "damaged"),
    ],
)
def test_a_broken_stl_file_is_called_by_its_name(tmp_path: Path, content: bytes, reason: str) -> None:
    assert _reason(tmp_path, content) == reason


def test_a_few_broken_triangles_do_not_spoil_a_model(tmp_path: Path) -> None:
    triangles = CHEST.copy()
    triangles[10] = np.nan
    triangles[500, 1, 2] = np.inf
    whole = prepared(_stl_of(triangles, tmp_path))
    assert len(whole) == len(CHEST) - 2
    assert np.isfinite(whole).all()


def test_a_model_is_centred_and_at_most_one_from_its_middle(tmp_path: Path) -> None:
    ready = prepared(_stl_of(CHEST * np.float32(7) + np.float32(900), tmp_path))
    assert np.abs(ready).max() == pytest.approx(1, abs=1e-5)
    assert ready.min(axis=(0, 1)) + ready.max(axis=(0, 1)) == pytest.approx([0, 0, 0], abs=1e-4)


def test_too_many_triangles_are_refused_before_they_are_read(tmp_path: Path) -> None:
    count = MAX_TRIANGLES + 1
    with (tmp_path / "model.stl").open("wb") as file:
        file.write(bytes(80) + struct.pack("<I", count))
        file.truncate(84 + 50 * count)  # a hole in the file: no bytes on the disk
    with pytest.raises(PictureProblem) as raised:
        read_stl(tmp_path / "model.stl")
    assert raised.value.reason == "too_many_triangles"


# ---- 3MF


def _thumbnail(colour: str = "orange", size: int = 64) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(buffer, "PNG")
    return buffer.getvalue()


def _package(**entries: bytes | str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in entries.items():
            package.writestr(name, content)
    return buffer.getvalue()


def _model(resources: str, build: str = "") -> str:
    return f'<model xmlns="x" xmlns:p="y"><resources>{resources}</resources><build>{build}</build></model>'


_MESH = (
    '<mesh><vertices><vertex x="0" y="0" z="0"/><vertex x="9" y="0" z="0"/><vertex x="0" y="9" z="4"/>'
    '</vertices><triangles><triangle v1="0" v2="1" v3="2"/></triangles></mesh>'
)
_OBJECT = f'<object id="1">{_MESH}</object>'


def test_the_embedded_picture_is_taken(tmp_path: Path) -> None:
    (tmp_path / "model.3mf").write_bytes(three_mf(CHEST, thumbnail=_thumbnail()))
    previews = take_thumbnail(tmp_path / "model.3mf", tmp_path)
    assert (previews.source_width_px, previews.colour) == (64, "#ffa500")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["64.webp", "model.3mf"]


def test_of_several_embedded_pictures_the_largest_is_taken(tmp_path: Path) -> None:
    large = Image.effect_noise((300, 300), 40)
    buffer = io.BytesIO()
    large.save(buffer, "PNG")
    content = _package(**{"Metadata/thumbnail.png": _thumbnail(), "Metadata/plate_1.png": buffer.getvalue()})
    (tmp_path / "model.3mf").write_bytes(content)
    assert take_thumbnail(tmp_path / "model.3mf", tmp_path).source_width_px == 300


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (three_mf(CHEST), "no_thumbnail"),
        (b"no zip at all", "damaged"),
        (three_mf(CHEST, thumbnail=_thumbnail())[:-400], "damaged"),
        (three_mf(CHEST, thumbnail=b"not a picture"), "not_a_picture"),
        (_package(**{"Metadata/thumbnail.png": bytes(40_000_000)}), "no_thumbnail"),
    ],
)
def test_without_an_embedded_picture_the_reason_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "model.3mf").write_bytes(content)
    with pytest.raises(PictureProblem) as raised:
        take_thumbnail(tmp_path / "model.3mf", tmp_path)
    assert raised.value.reason == reason
    assert [path.name for path in tmp_path.iterdir()] == ["model.3mf"]


def test_objects_are_placed_as_the_build_list_says(tmp_path: Path) -> None:
    main = _model(
        '<object id="7"><components><component objectid="1" p:path="/3D/Objects/part.model" '
        'transform="1 0 0 0 1 0 0 0 1 100 0 0"/></components></object>',
        '<item objectid="7" transform="2 0 0 0 2 0 0 0 2 0 0 50"/>',
    )
    content = _package(**{"3D/3dmodel.model": main, "3D/Objects/part.model": _model(_OBJECT)})
    (tmp_path / "model.3mf").write_bytes(content)
    assert read_three_mf(tmp_path / "model.3mf").tolist() == [[[200, 0, 50], [218, 0, 50], [200, 18, 58]]]


def test_an_object_that_is_placed_twice_is_there_twice(tmp_path: Path) -> None:
    main = _model(_OBJECT, '<item objectid="1"/><item objectid="1" transform="1 0 0 0 1 0 0 0 1 20 0 0"/>')
    (tmp_path / "model.3mf").write_bytes(_package(**{"3D/3dmodel.model": main}))
    assert len(read_three_mf(tmp_path / "model.3mf")) == 2


_ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("main", "reason"),
    [
        (_model(""), "empty_model"),
        (_ENTITIES + _model(_OBJECT), "damaged"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd">' + _model(_OBJECT), "damaged"),
        (_model(_OBJECT)[:-30], "damaged"),
        (_model(_OBJECT.replace('v3="2"', 'v3="3"')), "damaged"),
        (_model(_OBJECT.replace('v3="2"', 'v3="-1"')), "damaged"),
        (_model(_OBJECT.replace('v3="2"', 'v3="9999999999999999999999"')), "damaged"),
        (_model(_OBJECT.replace('x="9"', 'x="nine"')), "damaged"),
        (_model(_OBJECT.replace(' z="4"', "")), "damaged"),
        (_model(_OBJECT, '<item objectid="1" transform="1 2 3"/>'), "damaged"),
        (_model('<object id="1"><components><component objectid="1"/></components></object>',
                '<item objectid="1"/>'), "damaged"),
        (_model(_OBJECT, '<item objectid="1"/>' * 20_000), "too_complex"),
        (_model('<object id="1"><components><component objectid="1" p:path="/gone"/></components></object>',
                '<item objectid="1"/>'), "damaged"),
    ],
)  # fmt: skip
def test_a_broken_3mf_file_is_called_by_its_name(tmp_path: Path, main: str, reason: str) -> None:
    assert _reason(tmp_path, _package(**{"3D/3dmodel.model": main}), "3mf") == reason


def test_components_cannot_multiply_without_an_end(tmp_path: Path) -> None:
    """Seven levels of ten are ten million triangles out of a file of two kilobytes."""
    parts = {n: f'<component objectid="{n - 1}"/>' * 10 for n in range(2, 9)}
    levels = "".join(
        f'<object id="{n}"><components>{inner}</components></object>' for n, inner in parts.items()
    )
    content = _package(**{"3D/3dmodel.model": _model(_OBJECT + levels, '<item objectid="8"/>')})
    assert _reason(tmp_path, content, "3mf") == "too_complex"


def test_a_bomb_of_xml_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.ingest.pictures.meshes.three_mf._MAX_XML_BYTES", 5_000_000)
    bomb = _model(_OBJECT + "<metadata/>" * 600_000)
    assert _reason(tmp_path, _package(**{"3D/3dmodel.model": bomb}), "3mf") == "too_large"


# ---- OBJ


def test_faces_of_many_corners_and_negative_numbers_are_read(tmp_path: Path) -> None:
    text = "mtllib x\nv 0 0 0\nv 1 0 0 0.5\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1/1/1 2//1 3 4\nf -1 -2 -3\n"
    (tmp_path / "model.obj").write_text(text)
    assert read_obj(tmp_path / "model.obj").tolist() == [
        [[0, 0, 0], [1, 0, 0], [1, 1, 0]],
        [[0, 0, 0], [1, 1, 0], [0, 1, 0]],
        [[0, 1, 0], [1, 1, 0], [1, 0, 0]],
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty_model"),
        ("v 0 0 0\n", "empty_model"),
        ("v 0 0 0\nf 1 2 3\n", "damaged"),
        ("v 0 0 zero\nf 1 1 1\n", "damaged"),
        ("v 0 0\nf 1 1 1\n", "damaged"),
        ("v 0 0 0\nf a b c\n", "damaged"),
        ("v 0 0 0\nf -5 1 1\n", "damaged"),
    ],
)
def test_a_broken_obj_file_is_called_by_its_name(tmp_path: Path, text: str, reason: str) -> None:
    assert _reason(tmp_path, text.encode(), "obj") == reason


# ---- any bytes

_SEEDS: list[tuple[ModelFormat, bytes]] = [
    ("stl", binary_stl(box((3, 4, 5)))),
    ("stl", ascii_stl(box((3, 4, 5)))),
    ("3mf", three_mf(box((3, 4, 5)), thumbnail=_thumbnail())),
    ("3mf", _package(**{"3D/3dmodel.model": _model(_OBJECT)})),
    ("obj", obj(box((3, 4, 5)))),
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.sampled_from(_SEEDS),
    edits=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=10),
    keep=st.floats(0.5, 1),
)
def test_damaged_bytes_give_a_picture_or_a_named_problem(
    tmp_path: Path, seed: tuple[ModelFormat, bytes], edits: list[tuple[float, int]], keep: float
) -> None:
    content = bytearray(seed[1])
    for place, value in edits:
        content[int(place * len(content))] = value
    (tmp_path / "model").write_bytes(content[: int(keep * len(content))])
    try:
        assert draw_model(tmp_path / "model", tmp_path, model_format=seed[0], size_px=32).triangles > 0
    except PictureProblem as problem:
        assert problem.reason in mesh_reasons


mesh_reasons = {
    "damaged",
    "empty_model",
    "too_many_triangles",
    "unsupported_format",
    "too_large",
    "too_complex",
}


def test_the_limits_are_what_the_reasons_say() -> None:
    assert mesh.MAX_TRIANGLES >= 2_000_000
