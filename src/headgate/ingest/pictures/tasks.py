"""Making pictures as tasks of the sandbox: two paths, the source and the folder to write into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TypedDict

from headgate.ingest.pictures.models import SIZE_PX, draw_model, take_thumbnail
from headgate.ingest.pictures.previews import WIDTHS, Previews, make_previews
from headgate.ingest.pictures.problems import PictureProblem
from headgate.ingest.pictures.videos import make_poster
from headgate.ingest.sandbox.tasks import Answer, Parameters, Paths, sandboxed


@sandboxed
def preview_image(paths: Paths, parameters: Parameters) -> Answer:
    """Make previews of a picture; `widths` and `with_jpeg` may be given, here and below."""
    source, folder = paths
    return _answer(lambda: make_previews(source, folder, **_options(parameters)))


@sandboxed
def preview_thumbnail(paths: Paths, parameters: Parameters) -> Answer:
    """Make previews of the picture inside a 3MF file."""
    source, folder = paths
    return _answer(lambda: take_thumbnail(source, folder, **_options(parameters)))


@sandboxed
def preview_model(paths: Paths, parameters: Parameters) -> Answer:
    """Draw a model of a `format` at a `size_px`."""
    source, folder = paths
    size_px, options = parameters.get("size_px", SIZE_PX), _options(parameters)
    return _answer(
        lambda: (
            draw_model(source, folder, model_format=parameters["format"], size_px=size_px, **options).previews
        )
    )


@sandboxed
def preview_video(paths: Paths, parameters: Parameters) -> Answer:
    """Make previews of a video's frame with the program `ffmpeg`."""
    source, folder = paths
    ffmpeg, options = parameters.get("ffmpeg", "ffmpeg"), _options(parameters)
    return _answer(lambda: make_poster(source, folder, ffmpeg=ffmpeg, **options))


class _Options(TypedDict):
    widths: tuple[int, ...]
    with_jpeg: bool


def _options(parameters: Parameters) -> _Options:
    return {
        "widths": tuple(parameters.get("widths", WIDTHS)),
        "with_jpeg": bool(parameters.get("with_jpeg", False)),
    }


def _answer(make: Callable[[], Previews]) -> Answer:
    """Answer with the previews, or with the name of the problem."""
    try:
        return Answer({"previews": asdict(make())})
    except PictureProblem as problem:
        return Answer({"problem": problem.reason, "detail": problem.detail})
