"""Previews: a picture at the widths that pages show, as WebP, without anything that its file said beside it.

JPEG is made in addition where somebody asks for it, for platforms and mail programs that know no WebP, and in
place of WebP where Pillow was built without it. It has no transparency, so it gets a light background.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PIL import Image, features

from headgate.ingest.pictures.colours import dominant_colour
from headgate.ingest.pictures.images import open_picture

WIDTHS = (320, 1280)
_WEBP_QUALITY = 82
_JPEG_QUALITY = 84
_MAX_ASPECT = 3
"""Of a strip that is taller only the top is shown: fitted, it would be a thread."""
_JPEG_BACKGROUND = (244, 245, 247)


@dataclass(frozen=True)
class PreviewFile:
    """A file that was written."""

    name: str
    media_type: str
    width_px: int
    height_px: int
    size_bytes: int


@dataclass(frozen=True)
class Previews:
    """What was made of a picture, the smallest width first."""

    files: tuple[PreviewFile, ...]
    source_width_px: int
    source_height_px: int
    """As it was decoded and turned; a large JPEG is decoded smaller than it is."""
    colour: str
    """The colour to show until the picture is there, like `#8a93a0`."""
    is_transparent: bool


def make_previews(
    source: Path, folder: Path, *, widths: tuple[int, ...] = WIDTHS, with_jpeg: bool = False
) -> Previews:
    """Write previews of a picture into a folder; raise `PictureProblem` if it cannot be read."""
    return save_previews(
        open_picture(source, width_px=max(widths)), folder, widths=widths, with_jpeg=with_jpeg
    )


def save_previews(
    picture: Image.Image, folder: Path, *, widths: tuple[int, ...] = WIDTHS, with_jpeg: bool = False
) -> Previews:
    """Write previews of a decoded picture, RGB or RGBA; widths beyond its own become its own."""
    shown = _without_tail(picture)
    files: list[PreviewFile] = []
    for width in sorted({min(width, shown.width) for width in widths}):
        resized = _resized(shown, width)
        has_webp = features.check("webp")
        if has_webp:
            files.append(_save(resized, folder / f"{width}.webp"))
        if with_jpeg or not has_webp:
            files.append(_save(_on_background(resized), folder / f"{width}.jpg"))
    return Previews(
        files=tuple(files),
        source_width_px=picture.width,
        source_height_px=picture.height,
        colour=dominant_colour(shown),
        is_transparent=picture.mode == "RGBA",
    )


def _without_tail(picture: Image.Image) -> Image.Image:
    tallest = picture.width * _MAX_ASPECT
    return picture.crop((0, 0, picture.width, tallest)) if picture.height > tallest else picture


def _resized(picture: Image.Image, width_px: int) -> Image.Image:
    height_px = max(1, round(picture.height * width_px / picture.width))
    if width_px == picture.width:
        return picture
    return picture.resize((width_px, height_px), Image.Resampling.LANCZOS, reducing_gap=3.0)


def _on_background(picture: Image.Image) -> Image.Image:
    if picture.mode != "RGBA":
        return picture
    flat = Image.new("RGB", picture.size, _JPEG_BACKGROUND)
    flat.paste(picture, (0, 0), picture)
    return flat


def _save(picture: Image.Image, path: Path) -> PreviewFile:
    if path.suffix == ".webp":
        picture.save(path, "WEBP", quality=_WEBP_QUALITY, method=4)
        media_type = "image/webp"
    else:
        picture.save(path, "JPEG", quality=_JPEG_QUALITY, optimize=True, progressive=True)
        media_type = "image/jpeg"
    return PreviewFile(path.name, media_type, picture.width, picture.height, path.stat().st_size)
