"""What file names say of volumes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.library.archive_sets.volumes import (
    ZIP_NUMBER,
    VolumeName,
    fold_base,
    read_volume_name,
    sibling_name,
)
from headgate.domain.text import MAX_KEY_BYTES, is_key

pytestmark = pytest.mark.once


def read(file_name: str) -> VolumeName:
    name = read_volume_name(file_name)
    assert name is not None, file_name
    return name


def bucket(file_name: str) -> tuple[str, str]:
    name = read(file_name)
    return name.base, name.family


@pytest.mark.parametrize(
    ("file_name", "naming", "ending", "number"),
    [
        ("Pack.part1.rar", "part", "rar", 1),
        ("Pack.part01.rar", "part", "rar", 1),
        ("Pack.part012.rar", "part", "rar", 12),
        ("Pack.rar", "old_rar", "rar", 1),
        ("Pack.r00", "old_rar", "rar", 2),
        ("Pack.r99", "old_rar", "rar", 101),
        ("Pack.s00", "old_rar", "rar", 102),
        ("Pack.v99", "old_rar", "rar", 501),
        ("Pack.z01", "spanned_zip", "zip", 1),
        ("Pack.z100", "spanned_zip", "zip", 100),
        ("Pack.zip", "spanned_zip", "zip", ZIP_NUMBER),
        ("Pack.zip.001", "split", "zip", 1),
        ("Pack.7z.003", "split", "7z", 3),
        ("Pack.7z.1000", "split", "7z", 1000),
        ("Pack.rar.002", "split", "rar", 2),
        ("Pack.tar.001", "split", "tar", 1),
        ("Pack.tgz.001", "split", "tgz", 1),
        ("Pack.tar.gz.001", "split", "tar.gz", 1),
        ("Pack.tar.xz.001", "split", "tar.xz", 1),
        ("Pack.tar.bz2.001", "split", "tar.bz2", 1),
        ("Pack.tar.zst.001", "split", "tar.zst", 1),
        ("Pack.001", "bare", "", 1),
        ("Pack.mkv.002", "bare", "mkv", 2),
        ("Pack.v2.002", "bare", "", 2),
    ],
)
def test_every_naming_is_read(file_name: str, naming: str, ending: str, number: int) -> None:
    name = read(file_name)
    assert (name.naming, name.format, name.number) == (naming, ending, number)
    assert (name.is_first, name.is_last) == (number == 1, number == ZIP_NUMBER)


@pytest.mark.parametrize(
    "file_name",
    [
        "",
        "Pack",
        "Pack.7z",
        "Pack.tar.gz",
        "Pack.part0.rar",
        "Pack.part99999.rar",
        "Pack part1.rar.txt",
        "Pack.z00",
        "Pack.z1",
        "Pack.000",
        "Pack.7z.000",
        "Pack.2024",
        "Pack.r1",
        "Pack.r100",
        ".001",
        "_.part1.rar",
        "Pack.part١.rar.exe",
        "Pack.٠٠١",
        "Pack.001\nx",
    ],
)
def test_what_is_no_volume_is_left_alone(file_name: str) -> None:
    assert read_volume_name(file_name) is None


def test_a_rar_that_is_split_by_hand_into_named_archives_is_not_a_volume() -> None:
    """`Pack_part1.rar` is how people call separate archives; RAR itself always writes a dot."""
    assert read("Pack_part1.rar").naming == "old_rar"
    assert read("Pack_part1.rar").base == "pack part1"


@pytest.mark.parametrize(
    ("file_name", "ambiguous"),
    [
        ("Pack.rar", True),
        ("Pack.zip", True),
        ("Pack.001", True),
        ("Film.mkv.001", True),
        ("Show.S01", True),
        ("Pack.r00", False),
        ("Pack.z01", False),
        ("Pack.part1.rar", False),
        ("Pack.7z.001", False),
    ],
)
def test_a_name_that_may_be_no_volume_says_so(file_name: str, *, ambiguous: bool) -> None:
    assert read(file_name).ambiguous is ambiguous


def test_pack_rar_never_meets_pack_part1_rar() -> None:
    families = {read(name).family for name in ("Pack.rar", "Pack.part1.rar", "Pack.rar.001", "Pack.001")}
    assert len(families) == 4
    assert bucket("Pack.rar") == bucket("Pack.r00")
    assert bucket("Pack.zip") == bucket("Pack.z01") != bucket("Pack.zip.001")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pack.part1.rar", "PACK.PART2.RAR"),
        ("My Pack.7z.001", "My_Pack.7z.002"),
        ("My.Pack.7z.001", "my  pack.7z.002"),
        ("Pack.r00", "Pack .r01 "),
        ("Pack\u3000Ü.z01", unicodedata.normalize("NFD", "Pack Ü.z02")),
        ("STRASSE.7z.001", "straße.7z.002"),
    ],
)
def test_names_that_platforms_wrote_differently_share_a_bucket(one: str, other: str) -> None:
    assert bucket(one) == bucket(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pack 1.5.7z.001", "Pack 1 5.7z.001"),
        ("Pack.7z.001", "Pack.zip.001"),
        ("Pack-1.7z.001", "Pack 1.7z.001"),
        ("Film.mkv.001", "Film.mp4.001"),
    ],
)
def test_names_of_different_things_do_not_share_a_bucket(one: str, other: str) -> None:
    assert bucket(one) != bucket(other)


@pytest.mark.parametrize(
    ("file_name", "title"),
    [
        ("Dungeon_Blocks - Colossal.part01.rar", "Dungeon Blocks - Colossal"),
        ("Набор  фигурок.7z.001", "Набор фигурок"),
        ("a.b.c.d.tar.gz.001", "a.b.c.d"),
        ("Film.mkv.001", "Film"),
        ("Pack.v2.001", "Pack.v2"),
    ],
)
def test_the_title_is_the_name_without_its_suffix(file_name: str, title: str) -> None:
    assert read(file_name).title == title


def test_a_long_name_gets_a_base_that_fits_an_index_and_stays_different() -> None:
    one, other = (read(f"{'長' * 5000}{end}.part1.rar") for end in "ab")
    assert is_key(one.base)
    assert len(one.base.encode()) <= MAX_KEY_BYTES
    assert one.base != other.base


@pytest.mark.parametrize(
    ("names", "number", "expected"),
    [
        (["Pack.part1.rar"], 3, "Pack.part3.rar"),
        (["Pack.part01.rar", "Pack.part10.rar"], 3, "Pack.part03.rar"),
        (["Pack.part9.rar", "Pack.part10.rar"], 11, "Pack.part11.rar"),
        (["PACK.PART001.RAR"], 2, "PACK.PART002.RAR"),
        (["Pack.r00"], 1, "Pack.rar"),
        (["Pack.rar"], 102, "Pack.s00"),
        (["PACK.R03"], 2, "PACK.R00"),
        (["Pack.z02"], 1, "Pack.z01"),
        (["Pack.z02"], ZIP_NUMBER, "Pack.zip"),
        (["PACK.ZIP"], 3, "PACK.Z03"),
        (["My Pack.Tar.GZ.004"], 12, "My Pack.Tar.GZ.012"),
        (["Pack.7z.999"], 1000, "Pack.7z.1000"),
        (["Film.mkv.002"], 1, "Film.mkv.001"),
    ],
)
def test_a_missing_volume_is_named_as_its_siblings_are(names: list[str], number: int, expected: str) -> None:
    assert sibling_name([read(name) for name in names], number) == expected


SUFFIXES = [
    ".part1.rar",
    ".part07.rar",
    ".rar",
    ".r41",
    ".s03",
    ".z12",
    ".zip",
    ".7z.010",
    ".tar.xz.002",
    ".123",
]


@given(st.text(min_size=1, max_size=60), st.sampled_from(SUFFIXES))
def test_reading_is_safe_for_any_text_and_a_sibling_is_read_as_itself(stem: str, suffix: str) -> None:
    name = read_volume_name(stem + suffix)
    if name is None:
        assert not fold_base(stem)
        return
    assert is_key(name.base)
    assert name.title
    again = read(sibling_name([name], name.number))
    assert (again.base, again.family, again.number) == (name.base, name.family, name.number)


@given(st.text(max_size=40))
def test_any_text_is_read_without_an_error(text: str) -> None:
    name = read_volume_name(text)
    assert name is None or name.number >= 1


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing(stem: str) -> None:
    assert fold_base(fold_base(stem)) == fold_base(stem)
