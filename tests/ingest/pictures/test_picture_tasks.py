"""Pictures as tasks of the sandbox: values that JSON can say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.ingest.pictures.tasks import preview_image, preview_model, preview_thumbnail
from headgate.ingest.sandbox.tasks import SandboxedFunction
from headgate.testing.shapes.files import binary_stl
from headgate.testing.shapes.shapes import SHAPES

pytestmark = pytest.mark.once


def test_a_model_is_answered_with_the_files_that_were_written(tmp_path: Path) -> None:
    (tmp_path / "gear.stl").write_bytes(binary_stl(SHAPES["gear"]()))
    answer = preview_model(
        [tmp_path / "gear.stl", tmp_path], {"format": "stl", "size_px": 64, "widths": [32]}
    )
    told = json.loads(json.dumps(answer.value))["previews"]
    assert [file["name"] for file in told["files"]] == ["32.webp"]
    assert (tmp_path / "32.webp").stat().st_size == told["files"][0]["size_bytes"]
    again = preview_image([tmp_path / "32.webp", tmp_path], {"widths": [16], "with_jpeg": True})
    assert [file["name"] for file in again.value["previews"]["files"]] == ["16.webp", "16.jpg"]


@pytest.mark.parametrize(
    ("task", "problem"),
    [(preview_image, "not_a_picture"), (preview_thumbnail, "damaged")],
    ids=["image", "3mf"],
)
def test_a_problem_is_answered_by_its_name(tmp_path: Path, task: SandboxedFunction, problem: str) -> None:
    (tmp_path / "source").write_bytes(b"nothing of the kind")
    assert task([tmp_path / "source", tmp_path], {}).value["problem"] == problem
