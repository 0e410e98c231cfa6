"""Filters judge the set, not its volumes."""

from __future__ import annotations

import pytest
from volume_worlds import MB, Posted, build_volume

from headgate.domain.library.archive_sets.sets import set_candidate, set_file_name, set_size, set_title
from headgate.domain.library.archive_sets.volumes import Volume
from headgate.domain.streams.filters import Filter, verdict

pytestmark = pytest.mark.once


def volumes_of(*names: str, size_mb: int = 95) -> list[Volume]:
    return [build_volume(Posted(0, name, size_mb * MB, 0), place) for place, name in enumerate(names)]


@pytest.mark.parametrize(
    ("names", "title", "file_name"),
    [
        (("My_Pack.part2.rar", "My Pack.part1.rar"), "My Pack", "My Pack.rar"),
        (("Pack.r00", "Pack.rar"), "Pack", "Pack.rar"),
        (("Pack.z01", "Pack.zip"), "Pack", "Pack.zip"),
        (("Pack.tar.gz.001", "Pack.tar.gz.002"), "Pack", "Pack.tar.gz"),
        (("Film.mkv.001", "Film.mkv.002"), "Film", "Film.mkv"),
        (("Pack.001", "Pack.002"), "Pack", "Pack"),
    ],
)
def test_a_set_is_called_what_the_whole_is_called(names: tuple[str, str], title: str, file_name: str) -> None:
    read = [volume.name for volume in volumes_of(*names)]
    assert (set_title(read), set_file_name(read)) == (title, file_name)


def test_endings_are_those_of_the_whole() -> None:
    candidate = set_candidate(volumes_of("Pack.7z.001", "Pack.7z.002"))
    assert verdict(candidate, Filter(extensions=(".7z",))) == "kept"
    assert verdict(candidate, Filter(excluded_extensions=(".7z",))) == "extension"
    assert verdict(candidate, Filter(excluded_extensions=(".001", ".002"))) == "kept"


def test_sizes_are_the_sum() -> None:
    volumes = volumes_of("Pack.part1.rar", "Pack.part2.rar", "Pack.part3.rar")
    candidate = set_candidate(volumes)
    assert candidate.size_bytes == 285 * MB
    assert verdict(candidate, Filter(min_size_bytes=100 * MB)) == "kept"
    assert verdict(candidate, Filter(max_size_bytes=100 * MB)) == "too_large"


def test_a_sum_with_an_unknown_size_is_unknown() -> None:
    assert set_size([*volumes_of("Pack.part1.rar"), *volumes_of("Pack.part2.rar", size_mb=0)]) == 0


def test_the_type_is_told_by_a_volume_that_ends_like_the_whole_or_by_the_name() -> None:
    old = volumes_of("Pack.rar", "Pack.r00")
    assert set_candidate(old, mime_types=["application/x-rar", "text/troff"]).mime_type == "application/x-rar"
    assert set_candidate(old, mime_types=["", "text/troff"]).mime_type == ""
    split = set_candidate(volumes_of("Pack.7z.001"), mime_types=["text/troff"])
    assert verdict(split, Filter(mime_types=("application/x-7z-compressed",))) == "kept"


def test_a_set_of_unknown_type_is_judged_as_its_volumes_are() -> None:
    volumes, unknown = volumes_of("Pack.001", "Pack.002"), "application/octet-stream"
    anything = Filter(mime_types=("application/*",))
    assert verdict(set_candidate(volumes, mime_types=[unknown, unknown]), anything) == "kept"
    assert verdict(set_candidate(volumes, mime_types=["text/troff", unknown]), anything) == "mime_type"


def test_the_author_is_the_posters() -> None:
    candidate = set_candidate(volumes_of("Pack.part1.rar"), author="Ada", from_bot=True)
    assert verdict(candidate, Filter(authors=frozenset({"ada"}))) == "kept"
    assert verdict(candidate, Filter(bots=False)) == "bot"
