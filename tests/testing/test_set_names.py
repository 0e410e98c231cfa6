"""What people in a play call their volumes is read back by the judge, and by the product alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.domain.library.archive_sets.volumes import read_volume_name
from headgate.testing.simulator.streams.set_names import NAMINGS, read_name

pytestmark = pytest.mark.once

TOTAL = 5
EXPECTED = [
    ("part", "set-7.rar"),
    ("old_rar", "set-7.rar"),
    ("spanned_zip", "set-7.zip"),
    ("split", "set-7.zip"),
    ("split", "set-7.7z"),
    ("split", "set-7.tar.gz"),
    ("bare", "set-7"),
]


def test_plays_know_every_naming_that_the_product_reads() -> None:
    names = [read_volume_name(name_of("set-7", 1, TOTAL)) for name_of in NAMINGS]
    assert [name.naming for name in names if name] == [naming for naming, _ in EXPECTED]


@pytest.mark.parametrize(
    ("name_of", "whole"),
    zip(NAMINGS, [whole for _, whole in EXPECTED], strict=True),
    ids=[f"{naming} {whole}" for naming, whole in EXPECTED],
)
def test_a_name_is_read_back(name_of: Callable[[str, int, int], str], whole: str) -> None:
    read = [read_name(name_of("set-7", number, TOTAL)) for number in range(1, TOTAL + 1)]
    found = [volume for volume in read if volume is not None]
    assert len(found) == TOTAL
    assert {(volume.base, volume.whole) for volume in found} == {("set-7", whole)}
    numbers = [volume.number for volume in found]
    assert numbers[:-1] == [1, 2, 3, 4]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("name", ["notes.pdf", "pack.zip", "file-3.rar", "show.001"])
def test_other_files_are_no_volumes(name: str) -> None:
    assert read_name(name) is None
