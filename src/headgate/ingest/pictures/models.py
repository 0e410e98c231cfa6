"""Pictures of models: the one that a 3MF file brings along, or one drawn from the mesh."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image

from headgate.ingest.pictures.meshes.mesh import prepared
from headgate.ingest.pictures.meshes.obj import read_obj
from headgate.ingest.pictures.meshes.stl import read_stl
from headgate.ingest.pictures.meshes.three_mf import read_three_mf, read_thumbnail
from headgate.ingest.pictures.previews import WIDTHS, Previews, make_previews, save_previews
from headgate.ingest.pictures.render.render import render

ModelFormat = Literal["stl", "3mf", "obj"]

SIZE_PX = 768
_READERS = {"stl": read_stl, "3mf": read_three_mf, "obj": read_obj}


@dataclass(frozen=True)
class DrawnModel:
    """A drawing, and how much was drawn."""

    previews: Previews
    triangles: int


def draw_model(
    source: Path,
    folder: Path,
    *,
    model_format: ModelFormat,
    size_px: int = SIZE_PX,
    widths: tuple[int, ...] = WIDTHS,
    with_jpeg: bool = False,
) -> DrawnModel:
    """Draw a model and write previews into a folder; raise `PictureProblem` if it cannot be drawn."""
    triangles = prepared(_READERS[model_format](source))
    picture = Image.fromarray(render(triangles, size_px=size_px))
    return DrawnModel(save_previews(picture, folder, widths=widths, with_jpeg=with_jpeg), len(triangles))


def take_thumbnail(
    source: Path, folder: Path, *, widths: tuple[int, ...] = WIDTHS, with_jpeg: bool = False
) -> Previews:
    """Write previews of the picture inside a 3MF file; raise `PictureProblem` if it has none to read."""
    taken = folder / "thumbnail"
    taken.write_bytes(read_thumbnail(source))
    try:
        return make_previews(taken, folder, widths=widths, with_jpeg=with_jpeg)
    finally:
        taken.unlink()
