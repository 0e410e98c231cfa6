"""Makes pictures in the sandbox: of an image, of a model, of a frame of a video."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.domain.file_types import type_by_name
from headgate.domain.library.covers import CoverReason
from headgate.ingest.sandbox.pool import Sandbox
from headgate.ingest.sandbox.tasks import Failed, Limits, Task

TASKS = "headgate.ingest.pictures.tasks"
"""For the sandbox to load at its start."""

_FILE_BYTES = 64 * 2**20
IMAGE = Task(f"{TASKS}:preview_image", Limits(1024 * 2**20, cpu_s=30, wall_s=60.0, file_bytes=_FILE_BYTES))
THUMBNAIL = Task(
    f"{TASKS}:preview_thumbnail", Limits(1024 * 2**20, cpu_s=30, wall_s=60.0, file_bytes=_FILE_BYTES)
)
MODEL = Task(f"{TASKS}:preview_model", Limits(2048 * 2**20, cpu_s=60, wall_s=120.0, file_bytes=_FILE_BYTES))
VIDEO = Task(f"{TASKS}:preview_video", Limits(3072 * 2**20, cpu_s=60, wall_s=120.0, file_bytes=_FILE_BYTES))

_MODEL_FORMATS = {"model/stl": "stl", "model/obj": "obj", "model/3mf": "3mf"}


@dataclass(frozen=True)
class PreviewOnDisk:
    """One width and format, as a file."""

    path: Path
    width_px: int
    height_px: int
    media_type: str


@dataclass(frozen=True)
class MadePreviews:
    """A picture in all its widths, and the colour to show until it is there."""

    files: tuple[PreviewOnDisk, ...]
    colour: str


@dataclass(frozen=True)
class NotMade:
    """No picture, with a reason for logs."""

    reason: str


class PreviewMaker:
    """Makes previews; a file can neither raise nor hold it longer than its limits."""

    def __init__(self, sandbox: Sandbox, *, ffmpeg: str = "ffmpeg") -> None:
        self._sandbox = sandbox
        self._ffmpeg = shutil.which(ffmpeg)

    def can_make(self, reason: CoverReason) -> bool:
        """Tell whether this machine has what the kind of picture needs."""
        return reason != "video_poster" or self._ffmpeg is not None

    async def make(
        self, reason: CoverReason, source: Path, *, name: str, folder: Path
    ) -> MadePreviews | NotMade:
        """Make the previews of a source in a folder; `name` tells the format of a model."""
        task, parameters = self._task(reason, name)
        result = await self._sandbox.run(task, [source, folder], parameters)
        if isinstance(result, Failed):
            return NotMade(f"{result.failure}: {result.detail}")
        try:
            return _read_answer(result.value, folder)
        except (KeyError, TypeError, ValueError) as error:
            return NotMade(f"{type(error).__name__}: {error}")

    def _task(self, reason: CoverReason, name: str) -> tuple[Task, Mapping[str, Any]]:
        match reason:
            case "embedded_thumbnail":
                return THUMBNAIL, {}
            case "drawn_model":
                return MODEL, {"format": _MODEL_FORMATS.get(type_by_name(name), "stl")}
            case "video_poster":
                return VIDEO, {"ffmpeg": self._ffmpeg}
            case _:
                return IMAGE, {}


def _read_answer(answer: Mapping[str, Any], folder: Path) -> MadePreviews | NotMade:
    if "problem" in answer:
        return NotMade(f"{answer['problem']}: {answer['detail']}")
    previews = answer["previews"]
    files = tuple(
        PreviewOnDisk(
            # Only names that cannot lead elsewhere: the answer comes out of the sandbox.
            folder / Path(str(file["name"])).name,
            int(file["width_px"]),
            int(file["height_px"]),
            str(file["media_type"]),
        )
        for file in previews["files"]
    )
    return MadePreviews(files, str(previews["colour"])[:7])
