"""Untrusted pictures, decoded within limits: whatever comes in, upright 8-bit RGB or RGBA comes out.

The format is read from the content, never from a name. Only formats that Pillow decodes in its own process
are allowed; EPS, for one, would start Ghostscript. HEIC and JPEG XL are recognised and refused, since Pillow
cannot read them; SVG is a program rather than a picture, and is not drawn.
"""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError
from PIL import ImageCms as PartlyTyped

from headgate.ingest.pictures.problems import PictureProblem

ImageCms: Any = PartlyTyped
"""Its profiles have no types."""
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "AVIF", "TIFF", "BMP", "JPEG2000", "PSD", "TGA")
MAX_PIXELS = 40_000_000
"""160 MB of decoded pixels, and as much again while their colours are changed."""
MAX_JPEG_PIXELS = 170_000_000
"""A plain JPEG is decoded at a fraction of its size, so it may have more."""
MAX_FILE_BYTES = 500_000_000
_MAX_PROFILE_BYTES = 4_000_000
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    EOFError,
    OverflowError,
    RuntimeError,
    struct.error,
)
"""What decoders raise for damaged files."""
_UNREADABLE = {
    b"ftypheic",
    b"ftypheix",
    b"ftyphevc",
    b"ftypmif1",
    b"ftypmsf1",
    b"ftypheim",
    b"JXL \r\n\x87\n",
}


def open_picture(path: Path, *, width_px: int) -> Image.Image:
    """Return a file as RGB or RGBA, decoded at least so wide as asked for where it is; metadata is gone."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise PictureProblem("too_large", f"{path.stat().st_size} bytes")
    try:
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")
            return _decoded(Image.open(file, formats=FORMATS), width_px)
    except UnidentifiedImageError:
        raise _unidentified(path) from None
    except (Image.DecompressionBombError, MemoryError):
        raise PictureProblem("too_many_pixels") from None
    except _BROKEN as error:
        raise PictureProblem("damaged", f"{type(error).__name__}: {error}"[:200]) from None


def _decoded(picture: Image.Image, width_px: int) -> Image.Image:
    turn = _TURNS.get(_orientation(picture))
    _check_size(picture)
    # A JPEG can be decoded at a half, a quarter or an eighth of its size.
    picture.draft(None, (width_px, width_px))
    picture.load()
    profile = picture.info.get("icc_profile")
    plain = _to_srgb(picture, profile) if isinstance(profile, bytes) else picture
    plain = _eight_bit(plain)
    turned = plain if turn is None else plain.transpose(turn)
    turned.info = {}
    return turned


def _check_size(picture: Image.Image) -> None:
    pixels = picture.width * picture.height
    is_plain_jpeg = picture.format == "JPEG" and not picture.info.get("progressive")
    if pixels > (MAX_JPEG_PIXELS if is_plain_jpeg else MAX_PIXELS):
        raise PictureProblem("too_many_pixels", f"{picture.width} × {picture.height}")


def _orientation(picture: Image.Image) -> int:
    """Return how a camera was held; a broken note of it counts as none."""
    try:
        return int(picture.getexif().get(_ORIENTATION, 1))
    except _BROKEN:
        return 1


def _to_srgb(picture: Image.Image, profile: bytes) -> Image.Image:
    """Return the colours as screens show them; a broken profile counts as none."""
    if picture.mode not in {"RGB", "RGBA", "CMYK", "L"} or len(profile) > _MAX_PROFILE_BYTES:
        return picture
    mode = "RGBA" if picture.mode == "RGBA" else "RGB"
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        changed = ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB"), outputMode=mode)
    except (ImageCms.PyCMSError, *_BROKEN):
        return picture
    return changed or picture


def _eight_bit(picture: Image.Image) -> Image.Image:
    """Return RGB, or RGBA where something shows through."""
    if picture.mode.startswith("I") or picture.mode == "F":
        return _scaled(picture).convert("RGB")
    if picture.mode in {"RGBA", "LA", "La", "PA", "RGBa"} or "transparency" in picture.info:
        clear = picture if picture.mode == "RGBA" else picture.convert("RGBA")
        return clear if clear.getchannel("A").getextrema() != (255, 255) else clear.convert("RGB")
    # `convert` would copy what is RGB already, and large pictures are large.
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _scaled(picture: Image.Image) -> Image.Image:
    """Return a picture of more than 8 bits with its darkest pixel as black and its lightest as white."""
    wide = picture.convert("F")
    low, high = wide.getextrema()
    if not isinstance(low, float) or not isinstance(high, float) or not low < high:
        return Image.new("L", picture.size, 128)
    scale = 255 / (high - low)
    return wide.point(lambda value: value * scale - low * scale).convert("L")


def _unidentified(path: Path) -> PictureProblem:
    with path.open("rb") as file:
        head = file.read(512)
    if head[4:12] in _UNREADABLE or head.startswith(b"\xff\x0a"):
        return PictureProblem("unsupported_format", "HEIC or JPEG XL")
    if b"<svg" in head.lower():
        return PictureProblem("unsupported_format", "SVG")
    return PictureProblem("not_a_picture")
