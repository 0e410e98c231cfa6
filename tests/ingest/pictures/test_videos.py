"""Posters of videos: the first frame that shows something, and what happens without ffmpeg."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headgate.ingest.pictures.problems import PictureProblem
from headgate.ingest.pictures.videos import make_poster

pytestmark = pytest.mark.once

FFMPEG = "ffmpeg"
AMPLE_S = 1200
"""So that a busy machine does not make a program look as if it hung."""

_STAND_IN = """#!{python}
import sys
from pathlib import Path
from PIL import Image, ImageDraw
arguments = sys.argv[1:]
Path({log!r}).open("a").write(" ".join(arguments) + "\\n")
place = arguments[arguments.index("-ss") + 1]
colours = {colours!r}
if place in colours:
    picture = Image.new("RGB", (640, 360), colours[place])
    if colours[place] != "black":
        ImageDraw.Draw(picture).ellipse((100, 50, 400, 300), fill="white")
    picture.save(arguments[-1])
"""


def _stand_in(tmp_path: Path, colours: dict[str, str]) -> str:
    """Return a program in the place of ffmpeg: it writes a frame of a colour for each time it knows."""
    program = tmp_path / "ffmpeg"
    text = _STAND_IN.format(python=sys.executable, log=str(tmp_path / "log"), colours=colours)
    program.write_text(text)
    program.chmod(0o755)
    (tmp_path / "film.mp4").write_bytes(b"film")
    return str(program)


def _calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def test_without_ffmpeg_the_problem_says_so(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"film")
    with pytest.raises(PictureProblem, match="ffmpeg is not installed") as raised:
        make_poster(tmp_path / "film.mp4", tmp_path, ffmpeg="ffmpeg-that-is-not-there")
    assert raised.value.reason == "not_installed"


def test_the_first_frame_that_is_not_black_is_the_poster(tmp_path: Path) -> None:
    program = _stand_in(tmp_path, {"0": "red", "1": "black", "4": "black", "10": "blue", "25": "green"})
    previews = make_poster(tmp_path / "film.mp4", tmp_path, ffmpeg=program, timeout_s=AMPLE_S)
    assert previews.colour == "#0000ff"
    assert [file.width_px for file in previews.files] == [320, 640]
    assert len(_calls(tmp_path)) == 3
    assert not (tmp_path / "frame.png").exists()


def test_a_short_video_gives_its_first_frame(tmp_path: Path) -> None:
    program = _stand_in(tmp_path, {"0": "red"})
    assert make_poster(tmp_path / "film.mp4", tmp_path, ffmpeg=program, timeout_s=AMPLE_S).colour == "#ff0000"


def test_a_video_that_is_black_throughout_gets_a_black_poster(tmp_path: Path) -> None:
    program = _stand_in(tmp_path, {"0": "black", "1": "black"})
    assert make_poster(tmp_path / "film.mp4", tmp_path, ffmpeg=program, timeout_s=AMPLE_S).colour == "#000000"


def test_a_video_without_a_frame_is_called_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(PictureProblem) as raised:
        make_poster(tmp_path / "film.mp4", tmp_path, ffmpeg=_stand_in(tmp_path, {}), timeout_s=AMPLE_S)
    assert raised.value.reason == "no_frame"


def test_a_program_that_hangs_is_stopped(tmp_path: Path) -> None:
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!{sys.executable}\nimport signal\nsignal.pause()\n")
    program.chmod(0o755)
    (tmp_path / "film.mp4").write_bytes(b"film")
    with pytest.raises(PictureProblem) as raised:
        make_poster(tmp_path / "film.mp4", tmp_path, ffmpeg=str(program), timeout_s=0.6)
    assert raised.value.reason == "timed_out"


def test_ffmpeg_reads_no_keys_no_network_and_no_playlists(tmp_path: Path) -> None:
    program = _stand_in(tmp_path, {"1": "red"})
    make_poster(tmp_path / "film.mp4", tmp_path, ffmpeg=program, timeout_s=AMPLE_S)
    [call] = _calls(tmp_path)
    assert "-nostdin" in call
    assert "-protocol_whitelist file" in call
    allowed = call.partition("-format_whitelist ")[2].partition(" ")[0].split(",")
    assert "mp4" in allowed
    assert not {"hls", "concat", "dash", "imf"} & set(allowed)


def _film(tmp_path: Path, source: str, name: str) -> Path:
    command = [
        FFMPEG,
        "-nostdin",
        "-v",
        "error",
        "-f",
        "lavfi",
        "-i",
        source,
        "-t",
        "3",
        str(tmp_path / name),
    ]
    subprocess.run(command, check=True)
    return tmp_path / name


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv", "film.avi"])
def test_real_ffmpeg_gives_a_poster(tmp_path: Path, name: str) -> None:
    film = _film(tmp_path, "testsrc=size=640x360:rate=10", name)
    previews = make_poster(film, tmp_path, ffmpeg=FFMPEG, timeout_s=AMPLE_S)
    assert [(file.width_px, file.height_px) for file in previews.files] == [(320, 180), (640, 360)]


def test_real_ffmpeg_follows_no_playlist(tmp_path: Path) -> None:
    film = _film(tmp_path, "testsrc=size=320x180:rate=10", "inner.ts")
    playlist = f"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\nfile://{film}\n#EXT-X-ENDLIST\n"
    (tmp_path / "film.mp4").write_text(playlist)
    with pytest.raises(PictureProblem) as raised:
        make_poster(tmp_path / "film.mp4", tmp_path, ffmpeg=FFMPEG, timeout_s=AMPLE_S)
    assert raised.value.reason == "no_frame"
