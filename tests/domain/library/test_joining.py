"""Which items a person can join into one set, by example."""

from __future__ import annotations

from uuid import UUID

import pytest

from headgate.domain.library.archive_sets.joining import JoinedVolume, find_join_conflict
from headgate.domain.library.archive_sets.volumes import read_volume_name
from headgate.domain.words.volume_words import join_conflict_text

pytestmark = pytest.mark.once


def volumes(*items: str, vanished: str = "", content_id: str = "") -> list[JoinedVolume]:
    """Return the files of items, each named with an optional size: `pack.part1.rar:95`."""
    found: list[JoinedVolume] = []
    for place, names in enumerate(items):
        for text in names.split():
            name, _, size = text.partition(":")
            volume_name = read_volume_name(name)
            assert volume_name is not None
            found.append(
                JoinedVolume(UUID(int=place), volume_name, int(size or 95), content_id, name == vanished)
            )
    return found


@pytest.mark.parametrize(
    "items",
    [
        ("pack.part1.rar", "pakc.part2.rar"),
        ("pack.part1.rar pack.part3.rar", "other.part2.rar"),
        ("pack.z01 pack.z02", "Pack_last.zip"),
        ("pack.rar", "pakc.r00"),
        ("pack.7z.001", "pakc.7z.002"),
        ("pack.7z.001", "pack.002"),
        ("film.mkv.001", "film.002"),
        ("pack.part1.rar pack.part2.rar", "pack.part2.rar pack.part3.rar"),
    ],
)
def test_volumes_that_complete_each_other_can_be_joined(items: tuple[str, ...]) -> None:
    assert find_join_conflict(volumes(*items)) is None


@pytest.mark.parametrize(
    "items",
    [
        ("pack.part1.rar", "pack.z01"),
        ("pack.part1.rar", "pack.r00"),
        ("pack.7z.001", "pack.zip.002"),
        ("pack.part1.rar", "pack.001"),
        ("film.mkv.001", "film.avi.002"),
    ],
)
def test_two_namings_cannot_be_joined(items: tuple[str, ...]) -> None:
    conflict = find_join_conflict(volumes(*items))
    assert conflict is not None
    assert conflict.problem == "other_naming"
    assert all(name in join_conflict_text(conflict) for name in items)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (("pack.part1.rar", "other.part1.rar"), "both volume 1"),
        (("pack.part1.rar", "pack.part1.rar:40"), "both volume 1"),
        (("pack.part1.rar:0", "pack.part1.rar:0"), "both volume 1"),
        (("pack.z01 pack.zip", "pakc.z02 pakc.zip"), "both the last volume"),
    ],
)
def test_different_files_of_one_number_cannot_be_joined(items: tuple[str, ...], words: str) -> None:
    conflict = find_join_conflict(volumes(*items))
    assert conflict is not None
    assert conflict.problem == "same_number"
    assert words in join_conflict_text(conflict)


def test_a_copy_that_adds_no_volume_is_not_joined() -> None:
    for items in [("pack.part1.rar",) * 2, ("pack.part2.rar", "pack.part1.rar pack.part2.rar")]:
        conflict = find_join_conflict(volumes(*items))
        assert conflict is not None
        assert conflict.problem == "adds_nothing"


def test_one_content_is_a_copy_whatever_its_name() -> None:
    items = ("pack.part1.rar pack.part2.rar", "other.part2.rar other.part3.rar")
    assert find_join_conflict(volumes(*items)) is not None
    assert find_join_conflict(volumes(*items, content_id="same")) is None


def test_another_file_may_replace_a_volume_that_vanished() -> None:
    items = ("pack.part1.rar pack.part2.rar", "repost.part2.rar")
    assert find_join_conflict(volumes(*items, vanished="pack.part2.rar")) is None
