"""Archives and pictures are real, of the size that was announced, and the same for the same seed."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile

import pytest
from PIL import Image

from headgate.testing.content.archives import build_archive, build_rar_volumes, split_archive
from headgate.testing.content.content import SHAPES, Generated, Shape, file_bytes, file_of, write_out
from headgate.testing.content.themes import THEMES

pytestmark = pytest.mark.once

MEMBERS = [
    ("parts/arm_01.stl", b"solid arm" * 20),
    ("preview.jpg", b"\xff\xd8" * 400),
    ("README.txt", b"hello"),
]
NAMES = [name for name, _ in MEMBERS]


def test_a_zip_lists_its_members_and_has_the_size_asked_for() -> None:
    content = build_archive("zip", MEMBERS, size_bytes=9_001)
    assert len(content) == 9_001
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist() == NAMES
        assert archive.testzip() is None


def test_a_tar_gz_lists_its_members_and_has_the_size_asked_for() -> None:
    content = build_archive("tar.gz", MEMBERS, size_bytes=9_001)
    assert len(content) == 9_001
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert archive.getnames() == NAMES


def test_the_last_part_of_a_z01_set_lists_the_whole() -> None:
    parts = split_archive("zip", MEMBERS, parts=4, size_bytes=3_000)
    assert [len(part) for part in parts] == [3_000] * 4
    with zipfile.ZipFile(io.BytesIO(parts[-1])) as last:
        assert last.namelist() == NAMES
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as whole:
        assert whole.testzip() is None


def test_a_7z_set_joins_to_an_archive_with_a_sound_header() -> None:
    parts = split_archive("7z", MEMBERS, parts=3, size_bytes=4_000)
    whole = b"".join(parts)
    assert [len(part) for part in parts] == [4_000] * 3
    assert whole.startswith(b"7z\xbc\xaf\x27\x1c")
    assert all(name.encode("utf-16-le") in parts[-1] for name in NAMES)
    assert not any(name.encode("utf-16-le") in parts[0] for name in NAMES)


def test_each_rar_volume_says_whether_another_follows() -> None:
    volumes = build_rar_volumes(MEMBERS, volumes=3, size_bytes=4_000)
    assert [len(volume) for volume in volumes] == [4_000] * 3
    assert all(volume.startswith(b"Rar!\x1a\x07\x01\x00") for volume in volumes)
    assert [volume[-3] & 0x7F for volume in volumes] == [1, 1, 0]


def test_members_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        build_archive("zip", MEMBERS, size_bytes=100)


@pytest.mark.parametrize("shape", SHAPES[2:-1])
@pytest.mark.parametrize("theme", list(THEMES))
def test_a_file_has_the_size_that_its_message_announced(shape: Shape, theme: str) -> None:
    for seed in range(5):
        (file,) = write_out(Generated(shape, seed, theme)).files
        content = file_bytes(file)
        assert len(content) == file.size_bytes
        assert content == file_bytes(write_out(Generated(shape, seed, theme)).files[0])


def test_pictures_open() -> None:
    (file,) = write_out(Generated("picture", 5, "photos")).files
    with Image.open(io.BytesIO(file_bytes(file))) as picture:
        picture.load()
        assert picture.format == "JPEG"
        assert picture.size == (480, 360)


def test_the_preview_inside_an_archive_is_a_picture() -> None:
    content = next(
        written
        for seed in range(50)
        if (written := write_out(Generated("archive", seed, "photos"))).files[0].name.endswith(".zip")
    )
    with zipfile.ZipFile(io.BytesIO(file_bytes(content.files[0]))) as archive:
        assert "README.txt" in archive.namelist()
        with Image.open(io.BytesIO(archive.read("preview.jpg"))) as preview:
            assert preview.format == "JPEG"


def test_parts_of_a_set_are_named_as_sets_are() -> None:
    patterns = (r"\.part\d+\.rar$", r"\.7z\.\d{3}$", r"\.z\d\d$|\.zip$")
    seen: set[str] = set()
    for seed in range(30):
        names = [write_out(Generated("part", seed, "prints", n, 3)).files[0].name for n in (1, 2, 3)]
        (pattern,) = [p for p in patterns if all(re.search(p, name) for name in names)]
        seen.add(pattern)
        assert len({re.sub(pattern, "", name) for name in names}) == 1
    assert seen == set(patterns)


def test_a_thirteen_part_set_is_made_whole() -> None:
    contents = [file_bytes(write_out(Generated("part", 4, "prints", n, 13)).files[0]) for n in range(1, 14)]
    assert {len(content) for content in contents} == {32_000}


def test_equal_bytes_have_an_equal_content_id() -> None:
    assert file_of("a.bin", b"same").content_id == file_of("b.bin", b"same").content_id
    assert file_of("a.bin", b"same").content_id != file_of("a.bin", b"other").content_id
