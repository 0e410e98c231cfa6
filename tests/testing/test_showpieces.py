"""What the demo shows on purpose: real videos, locked archives, hostile names, sets with holes."""

from __future__ import annotations

import io
import struct
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from PIL import Image

from headgate.testing import VirtualClock, build_demo_world
from headgate.testing.content.clips import MIN_BYTES, build_clip
from headgate.testing.content.content import SimFile, file_bytes
from headgate.testing.content.showpieces import PASSWORD, list_showpieces

pytestmark = pytest.mark.once

OPENED_AT = datetime(2026, 3, 1, 12, 20, tzinfo=UTC)


def shown_files() -> dict[str, SimFile]:
    return {file.name: file for piece in list_showpieces() for file in piece.content.files}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_frames_of_a_clip_lie_where_its_tables_say(seed: int) -> None:
    clip = build_clip(seed, size_bytes=MIN_BYTES)
    sizes, places = clip.index(b"stsz") + 4, clip.index(b"stco") + 4
    (count,) = struct.unpack_from(">I", clip, sizes + 8)
    (place,) = struct.unpack_from(">I", clip, places + 8)
    for length in struct.unpack_from(f">{count}I", clip, sizes + 12):
        with Image.open(io.BytesIO(clip[place : place + length])) as frame:
            frame.load()
            assert frame.size == (320, 180)
        place += length


@pytest.mark.parametrize("size_bytes", [MIN_BYTES, MIN_BYTES + 1, 159_999])
def test_a_clip_has_the_size_asked_for(size_bytes: int) -> None:
    assert len(build_clip(7, size_bytes=size_bytes)) == size_bytes


def test_the_locked_archive_opens_with_the_password_of_its_caption() -> None:
    locked = file_bytes(shown_files()["Bell_Warden_supporters.zip"])
    caption = next(p.content.text for p in list_showpieces() if "Bell Warden" in p.content.text)
    assert PASSWORD in caption
    with zipfile.ZipFile(io.BytesIO(locked)) as archive:
        assert all(entry.flag_bits & 1 for entry in archive.infolist())
        with pytest.raises(RuntimeError, match="password required"):
            archive.read("README.txt")
        archive.setpassword(PASSWORD.encode())
        assert archive.testzip() is None


def test_only_two_files_differ_from_what_the_platform_says() -> None:
    wrong = {name for name, file in shown_files().items() if len(file_bytes(file)) != file.size_bytes}
    assert wrong == {"Glass_Orchard_Textures.zip", "Puppet_Theatre.part2.rar"}


def test_sets_have_holes() -> None:
    names = set(shown_files())
    assert {"Clockwork_Cathedral.7z.002", "Clockwork_Cathedral.7z.004"} <= names
    assert "Clockwork_Cathedral.7z.003" not in names
    assert {n for n in names if n.startswith("Old_Harbour")} == {
        f"Old_Harbour_Diorama.part{n}.rar" for n in (1, 2, 3)
    }


def test_a_restart_posts_nothing_of_it_twice() -> None:
    def names_after(hours: float) -> list[tuple[str, str]]:
        clock = VirtualClock(OPENED_AT + timedelta(hours=hours))
        world = build_demo_world(1, clock, opened_at=OPENED_AT)
        messages = [(key, m) for key in world.streams for m in world.messages(key)]
        return [
            (key, a.file_name) for key, m in messages for a in m.attachments if a.file_name in shown_files()
        ]

    # Some are posted in two channels, once in each.
    placed = {(piece.stream, file.name) for piece in list_showpieces() for file in piece.content.files}
    first, later = names_after(0), names_after(12)
    assert len(first) == len(set(first)) == len(placed) - 3
    assert {name for _, name in later} == set(shown_files()) - {"Puppet_Theatre.part2.rar"}
    assert len(later) == len(set(later))
