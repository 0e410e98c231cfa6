"""The poster of a video: the first frame that shows something, read by ffmpeg where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from PIL import Image, ImageStat

from headgate.ingest.pictures.images import open_picture
from headgate.ingest.pictures.previews import WIDTHS, Previews, save_previews
from headgate.ingest.pictures.problems import PictureProblem

_PLACES_S = (1, 4, 10, 25, 60, 0)
"""Where frames are taken; the start comes last, since many videos fade in."""
_MIN_BRIGHTNESS = 18
_MIN_CONTRAST = 6
_CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg"
"""Playlists are not among them: one could name any other file of the machine."""
_MAX_WIDTH_PX = 1280


def make_poster(
    source: Path,
    folder: Path,
    *,
    ffmpeg: str = "ffmpeg",
    timeout_s: float = 60,
    widths: tuple[int, ...] = WIDTHS,
    with_jpeg: bool = False,
) -> Previews:
    """Write previews of a frame into a folder; raise `PictureProblem` if there is none, or no ffmpeg."""
    program = shutil.which(ffmpeg)
    if program is None:
        raise PictureProblem("not_installed")
    frame = folder / "frame.png"
    try:
        picture = _first_good_frame(program, source, frame, timeout_s / len(_PLACES_S))
    finally:
        frame.unlink(missing_ok=True)
    return save_previews(picture, folder, widths=widths, with_jpeg=with_jpeg)


def _first_good_frame(program: str, source: Path, frame: Path, timeout_s: float) -> Image.Image:
    """Return the first frame that is neither dark nor of one colour, or else the liveliest of all."""
    fallback: tuple[float, Image.Image] | None = None
    for place_s in _PLACES_S:
        picture = _frame_at(program, source, frame, place_s, timeout_s)
        if picture is None:
            continue
        brightness, contrast = _liveliness(picture)
        if brightness >= _MIN_BRIGHTNESS and contrast >= _MIN_CONTRAST:
            return picture
        if fallback is None or contrast > fallback[0]:
            fallback = (contrast, picture)
    if fallback is None:
        raise PictureProblem("no_frame")
    return fallback[1]


def _frame_at(program: str, source: Path, frame: Path, place_s: int, timeout_s: float) -> Image.Image | None:
    """Return the frame at a time; None beyond the end, and where nothing can be decoded."""
    frame.unlink(missing_ok=True)
    limits = ["-nostdin", "-v", "error", "-threads", "1", "-protocol_whitelist", "file"]
    taken = ["-format_whitelist", _CONTAINERS, "-ss", str(place_s), "-i", f"file:{source.absolute()}"]
    made = ["-map", "0:v:0", "-frames:v", "1", "-vf", f"scale='min({_MAX_WIDTH_PX},iw)':-2"]
    command = [program, *limits, *taken, *made, "-c:v", "png", "-f", "image2", "-y", str(frame)]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise PictureProblem("timed_out", f"{timeout_s:g} s for one frame") from None
    except OSError as error:
        raise PictureProblem("not_installed", str(error)) from None
    if not frame.exists() or frame.stat().st_size == 0:
        return None
    return open_picture(frame, width_px=_MAX_WIDTH_PX)


def _liveliness(picture: Image.Image) -> tuple[float, float]:
    """Return how bright a frame is, and how much its brightness varies."""
    measured = ImageStat.Stat(picture.convert("L"))
    return measured.mean[0], measured.stddev[0]
