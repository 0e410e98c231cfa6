"""Previews: sizes, formats, colours, and files that want to do harm."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, ImageDraw

from headgate.ingest.pictures.images import FORMATS
from headgate.ingest.pictures.previews import PreviewFile, make_previews
from headgate.ingest.pictures.problems import PictureProblem

pytestmark = pytest.mark.once


def _scene(width: int = 600, height: int = 400, mode: str = "RGB") -> Image.Image:
    """Return a picture whose corners differ: red, green, blue, and a bright disc."""
    picture = Image.new("RGB", (width, height), (90, 110, 140))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, width // 3, height // 3), fill=(220, 20, 20))
    draw.rectangle((2 * width // 3, 0, width, height // 3), fill=(20, 200, 20))
    draw.rectangle((0, 2 * height // 3, width // 3, height), fill=(20, 20, 220))
    draw.ellipse((width // 3, height // 3, 2 * width // 3, 2 * height // 3), fill=(250, 240, 200))
    return picture.convert(mode)


def _encoded(picture: Image.Image, image_format: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, image_format, **options)  # pyright: ignore[reportArgumentType]
    return buffer.getvalue()


def _made(tmp_path: Path, content: bytes, name: str = "source") -> tuple[Image.Image, PreviewFile]:
    """Return the widest preview, decoded."""
    source = tmp_path / name
    source.write_bytes(content)
    file = make_previews(source, tmp_path).files[-1]
    with Image.open(tmp_path / file.name) as preview:
        preview.load()
        return preview, file


def _reason(tmp_path: Path, content: bytes) -> str:
    source = tmp_path / "source"
    source.write_bytes(content)
    with pytest.raises(PictureProblem) as raised:
        make_previews(source, tmp_path)
    assert str(raised.value)
    return raised.value.reason


def _pixel(picture: Image.Image, at: tuple[int, int]) -> tuple[int, ...]:
    return cast("tuple[int, ...]", picture.getpixel(at))


def _near(pixel: tuple[int, ...], colour: tuple[int, int, int], *, by: int = 40) -> bool:
    return all(abs(a - b) <= by for a, b in zip(pixel[:3], colour, strict=True))


def test_a_picture_gets_two_widths_and_keeps_its_proportions(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(_encoded(_scene(2400, 1600), "JPEG"))
    previews = make_previews(tmp_path / "photo.jpg", tmp_path)
    assert [(file.name, file.width_px, file.height_px) for file in previews.files] == [
        ("320.webp", 320, 213),
        ("1280.webp", 1280, 853),
    ]
    for file in previews.files:
        assert file.media_type == "image/webp"
        assert (tmp_path / file.name).stat().st_size == file.size_bytes > 0


def test_a_small_picture_is_never_enlarged(tmp_path: Path) -> None:
    (tmp_path / "small.png").write_bytes(_encoded(_scene(200, 100), "PNG"))
    previews = make_previews(tmp_path / "small.png", tmp_path)
    assert [(file.width_px, file.height_px) for file in previews.files] == [(200, 100)]


def test_of_a_tall_strip_the_top_is_shown(tmp_path: Path) -> None:
    preview, _ = _made(tmp_path, _encoded(_scene(100, 30_000), "PNG"))
    assert preview.size == (100, 300)
    assert _near(_pixel(preview, (5, 5)), (220, 20, 20))


def test_a_picture_of_one_pixel_has_a_preview(tmp_path: Path) -> None:
    preview, _ = _made(tmp_path, _encoded(Image.new("RGB", (1, 1), (9, 9, 9)), "PNG"))
    assert preview.size == (1, 1)


def test_a_line_stays_at_least_one_pixel_high(tmp_path: Path) -> None:
    preview, _ = _made(tmp_path, _encoded(Image.new("RGB", (9000, 2)), "PNG"))
    assert preview.size == (1280, 1)


def test_jpeg_is_made_where_it_is_asked_for_on_a_light_background(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(_encoded(Image.new("RGBA", (400, 400), (0, 0, 0, 0)), "PNG"))
    previews = make_previews(tmp_path / "logo.png", tmp_path, with_jpeg=True)
    assert [file.name for file in previews.files] == ["320.webp", "320.jpg", "400.webp", "400.jpg"]
    with Image.open(tmp_path / "400.jpg") as flat:
        assert flat.format == "JPEG"
        assert _near(_pixel(flat, (200, 200)), (244, 245, 247), by=6)


@pytest.mark.parametrize(
    "image_format", ["JPEG", "PNG", "WEBP", "GIF", "AVIF", "TIFF", "BMP", "JPEG2000", "TGA"]
)
def test_the_content_says_what_a_file_is_and_not_its_name(tmp_path: Path, image_format: str) -> None:
    preview, _ = _made(tmp_path, _encoded(_scene(), image_format), name="picture.mp3")
    assert preview.size == (600, 400)
    assert _near(_pixel(preview, (20, 20)), (220, 20, 20))
    assert _near(_pixel(preview, (580, 20)), (20, 200, 20))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_camera_that_was_turned_gives_an_upright_picture(tmp_path: Path, orientation: int) -> None:
    undone = {
        2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }  # fmt: skip
    turned = _scene().transpose(undone[orientation]) if orientation > 1 else _scene()
    exif = Image.Exif()
    exif[0x0112] = orientation
    preview, _ = _made(tmp_path, _encoded(turned, "JPEG", exif=exif))
    assert preview.size == (600, 400)
    assert _near(_pixel(preview, (20, 20)), (220, 20, 20))
    assert _near(_pixel(preview, (20, 380)), (20, 20, 220))


def test_previews_say_nothing_that_the_file_said(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    exif[0x8825] = {2: (52.0, 30.0, 0.0)}
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    content = _encoded(_scene(), "JPEG", exif=exif, icc_profile=profile, comment=b"secret")
    (tmp_path / "photo.jpg").write_bytes(content)
    for file in make_previews(tmp_path / "photo.jpg", tmp_path, with_jpeg=True).files:
        written = (tmp_path / file.name).read_bytes()
        assert b"Exif" not in written
        assert b"ICC" not in written
        assert b"secret" not in written
        assert b"home" not in written


def test_what_shows_through_stays_transparent(tmp_path: Path) -> None:
    picture = Image.new("RGBA", (400, 400), (0, 0, 0, 0))
    ImageDraw.Draw(picture).ellipse((100, 100, 300, 300), fill=(200, 40, 40, 255))
    preview, _ = _made(tmp_path, _encoded(picture, "PNG"))
    assert preview.mode == "RGBA"
    assert _pixel(preview, (2, 2))[3] == 0
    assert _near(_pixel(preview, (200, 200)), (200, 40, 40))


def test_an_opacity_that_hides_nothing_is_dropped(tmp_path: Path) -> None:
    preview, _ = _made(tmp_path, _encoded(_scene(mode="RGBA"), "PNG"))
    assert preview.mode == "RGB"


def test_a_palette_with_a_transparent_colour_is_read(tmp_path: Path) -> None:
    picture = _scene().quantize(16)
    corner = picture.getpixel((0, 0))
    preview, _ = _made(tmp_path, _encoded(picture, "PNG", transparency=corner))
    assert preview.mode == "RGBA"
    assert _pixel(preview, (5, 5))[3] < 40
    assert _near(_pixel(preview, (580, 20)), (20, 200, 20))


@pytest.mark.parametrize("mode", ["L", "1", "CMYK", "LA", "P", "YCbCr"])
def test_every_way_to_write_colours_is_read(tmp_path: Path, mode: str) -> None:
    image_format = "TIFF" if mode in {"CMYK", "YCbCr"} else "PNG"
    preview, _ = _made(tmp_path, _encoded(_scene(mode=mode), image_format))
    assert preview.mode == "RGB"
    red, disc = _pixel(preview, (20, 20)), _pixel(preview, (300, 200))
    assert sum(red[:3]) < sum(disc[:3])


def test_the_inverted_colours_of_printers_are_read(tmp_path: Path) -> None:
    preview, _ = _made(tmp_path, _encoded(_scene(mode="CMYK"), "JPEG"))
    assert _near(_pixel(preview, (20, 20)), (220, 20, 20), by=60)


def _gradient(mode: str, top: float) -> Image.Image:
    picture = Image.new(mode, (256, 8))
    for x in range(256):
        for y in range(8):
            picture.putpixel((x, y), top * x / 255 if mode == "F" else int(top * x / 255))
    return picture


@pytest.mark.parametrize(("mode", "top"), [("I;16", 65_535), ("I;16", 900), ("I", 65_535), ("F", 1.0)])
def test_more_than_eight_bits_become_eight_and_do_not_burn_out(tmp_path: Path, mode: str, top: float) -> None:
    preview, _ = _made(tmp_path, _encoded(_gradient(mode, top), "TIFF"))
    levels = [_pixel(preview, (x, 4))[0] for x in (2, 64, 128, 192, 253)]
    assert levels == sorted(levels)
    assert abs(levels[2] - 128) < 12
    assert levels[0] < 15
    assert levels[4] > 240


@pytest.mark.parametrize("image_format", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_shown(tmp_path: Path, image_format: str) -> None:
    frames = [Image.new("RGB", (64, 64), colour) for colour in ("red", "blue", "green")]
    content = _encoded(frames[0], image_format, save_all=True, append_images=frames[1:])
    preview, _ = _made(tmp_path, content)
    assert _near(_pixel(preview, (32, 32)), (255, 0, 0))
    assert getattr(preview, "n_frames", 1) == 1


def test_the_placeholder_is_the_colour_of_the_picture(tmp_path: Path) -> None:
    picture = Image.new("RGB", (300, 300), (30, 120, 60))
    ImageDraw.Draw(picture).rectangle((0, 0, 60, 60), fill=(255, 255, 255))
    (tmp_path / "leaf.png").write_bytes(_encoded(picture, "PNG"))
    assert make_previews(tmp_path / "leaf.png", tmp_path).colour == "#1e783c"


def test_the_placeholder_of_an_empty_picture_is_grey(tmp_path: Path) -> None:
    (tmp_path / "air.png").write_bytes(_encoded(Image.new("RGBA", (30, 30)), "PNG"))
    previews = make_previews(tmp_path / "air.png", tmp_path)
    assert previews.colour == "#808080"
    assert previews.is_transparent


def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    content = _encoded(_scene(1500, 900), "JPEG")
    written: list[list[bytes]] = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "source").write_bytes(content)
        files = make_previews(folder / "source", folder, with_jpeg=True).files
        written.append([(folder / file.name).read_bytes() for file in files])
    assert written[0] == written[1]


def _png_that_claims(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = zlib.compress(bytes(10_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("width", "height"), [(60_000, 60_000), (10_000, 10_000), (2**31 - 1, 1)])
def test_a_bomb_is_refused_before_it_is_decoded(tmp_path: Path, width: int, height: int) -> None:
    assert _reason(tmp_path, _png_that_claims(width, height)) == "too_many_pixels"


@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"])
def test_a_truncated_file_is_damaged(tmp_path: Path, image_format: str) -> None:
    content = _encoded(_scene(), image_format)
    assert _reason(tmp_path, content[: len(content) * 2 // 3]) == "damaged"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not_a_picture"),
        (b"hello, world", "not_a_picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n", "not_a_picture"),
        (b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>", "unsupported_format"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(200), "unsupported_format"),
        (b"\xff\x0a" + bytes(40), "unsupported_format"),
        (b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(40), "unsupported_format"),
    ],
)
def test_what_is_no_picture_is_called_by_its_name(tmp_path: Path, content: bytes, reason: str) -> None:
    assert _reason(tmp_path, content) == reason


def test_formats_that_start_other_programs_are_not_read() -> None:
    assert not {"EPS", "PDF", "WMF", "MPO", "FITS"} & set(FORMATS)


_SEEDS = [
    _encoded(_scene(48, 32), each)
    for each in ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF", "JPEG2000", "TGA")
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.sampled_from(_SEEDS),
    edits=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=12),
    keep=st.floats(0.3, 1),
)
def test_damaged_bytes_give_a_preview_or_a_named_problem(
    tmp_path: Path, seed: bytes, edits: list[tuple[float, int]], keep: float
) -> None:
    content = bytearray(seed)
    for place, value in edits:
        content[int(place * len(content))] = value
    (tmp_path / "source").write_bytes(content[: int(keep * len(content))])
    try:
        assert make_previews(tmp_path / "source", tmp_path).files
    except PictureProblem as problem:
        assert problem.reason in {"damaged", "not_a_picture", "too_many_pixels", "unsupported_format"}


_MEASURE = """
import sys
from pathlib import Path
from headgate.ingest.pictures.previews import make_previews
source = Path(sys.argv[1])
make_previews(source, source.parent)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def test_a_large_photo_is_decoded_in_little_memory(tmp_path: Path) -> None:
    """100 megapixels would be 300 MB when decoded at full size."""
    picture = Image.new("RGB", (10_000, 10_000), (90, 120, 60))
    picture.save(tmp_path / "huge.jpg", "JPEG", quality=50)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path / "huge.jpg")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 150_000
