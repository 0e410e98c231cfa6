"""Real pictures of an exact size, the same for the same seed."""

from __future__ import annotations

import io
import struct

from PIL import Image, ImageDraw

from headgate.kernel.randomness import Randomness
from headgate.testing.content.seeds import derive

MIN_BYTES = 24_000
_MAX_COMMENT = 60_000


def build_picture(
    seed: int, *, size_bytes: int, width: int = 480, height: int = 360, sun_shift: int = 0
) -> bytes:
    """Return a JPEG: hills under a sky in the colours of the seed."""
    choices = derive(seed, "picture")
    picture = _sky(choices, width, height)
    _draw_hills(ImageDraw.Draw(picture), choices, width, height, sun_shift)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=70)
    return _padded(buffer.getvalue(), size_bytes)


def _sky(choices: Randomness, width: int, height: int) -> Image.Image:
    top, bottom = _colour(choices, low=60), _colour(choices, low=150)
    picture = Image.new("RGB", (width, height))
    draw = ImageDraw.Draw(picture)
    for y in range(height):
        red, green, blue = (a + (b - a) * y // height for a, b in zip(top, bottom, strict=True))
        draw.line((0, y, width, y), fill=(red, green, blue))
    return picture


def _draw_hills(
    draw: ImageDraw.ImageDraw, choices: Randomness, width: int, height: int, sun_shift: int
) -> None:
    radius = 12 + choices.below(30)
    sun = (choices.below(width) + sun_shift, choices.below(height // 2))
    draw.ellipse((sun[0] - radius, sun[1] - radius, sun[0] + radius, sun[1] + radius), fill=(255, 240, 200))
    for layer in range(4):
        base = height * (5 + layer) // 10
        ridge = [
            (x, base + choices.below(height // 6)) for x in range(0, width + width // 8, max(1, width // 8))
        ]
        draw.polygon([(0, height), *ridge, (width, height)], fill=_colour(choices, low=20 + 25 * layer))


def _colour(choices: Randomness, *, low: int) -> tuple[int, int, int]:
    return (low + choices.below(100), low + choices.below(100), low + choices.below(100))


def _padded(jpeg: bytes, size_bytes: int) -> bytes:
    """Lengthen by comment segments, which every reader of JPEG passes over."""
    missing = size_bytes - len(jpeg)
    if missing and missing < 4:
        raise ValueError(f"the picture does not fit into {size_bytes} bytes")
    segments = b""
    while missing:
        length = min(missing, _MAX_COMMENT)
        if 0 < missing - length < 4:
            length -= 4
        segments += b"\xff\xfe" + struct.pack(">H", length - 2) + b" " * (length - 4)
        missing -= length
    return jpeg[:2] + segments + jpeg[2:]
