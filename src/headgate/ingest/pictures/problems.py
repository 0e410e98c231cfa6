"""Why there is no picture, by name."""

from __future__ import annotations

from typing import Literal

from headgate.domain.errors import Malformed

PictureReason = Literal[
    "not_a_picture",
    "unsupported_format",
    "damaged",
    "too_many_pixels",
    "too_large",
    "empty_model",
    "no_thumbnail",
    "too_many_triangles",
    "too_complex",
    "not_installed",
    "timed_out",
    "no_frame",
]

MESSAGES: dict[PictureReason, str] = {
    "not_a_picture": "This file is not a picture.",
    "unsupported_format": "Headgate cannot read this kind of picture.",
    "damaged": "The file is damaged or cut off.",
    "too_many_pixels": "The picture has too many pixels to be decoded safely.",
    "too_large": "The file is too large to make a picture of it.",
    "empty_model": "The model has no surface to draw.",
    "no_thumbnail": "The file has no embedded picture.",
    "too_many_triangles": "The model has too many triangles to draw.",
    "too_complex": "The model has too many overlapping surfaces to draw in time.",
    "not_installed": "ffmpeg is not installed, so videos have no posters.",
    "timed_out": "The video took too long to read.",
    "no_frame": "The video has no frame that could serve as a poster.",
}
"""What people read."""


class PictureProblem(Malformed):
    """A picture that cannot be made; trying again with the same file will not help."""

    def __init__(self, reason: PictureReason, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason: PictureReason = reason
        self.detail = detail
        """For logs: what exactly was wrong."""

    def __str__(self) -> str:
        return f"{MESSAGES[self.reason]} ({self.detail})" if self.detail else MESSAGES[self.reason]
