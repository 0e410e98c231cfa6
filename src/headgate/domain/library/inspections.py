"""Which stored files make up the archive of an item, and what looking into it came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.file_types import type_by_name
from headgate.domain.library.archive_sets.volumes import ZIP_NUMBER, read_volume_name
from headgate.domain.library.contents import Problem

InspectionState = Literal[
    "pending",
    "empty",
    "plain",
    "ok",
    "partial",
    "encrypted",
    "hostile",
    "incomplete",
    "truncated",
    "damaged",
    "unsupported",
    "unreadable",
]
FileState = Literal["listed", "wanted", "stored", "dropped", "failed", "gone"]

MAX_VOLUMES = 2_000
"""More are never read as one archive; a stray `.part9999.rar` would need ten thousand places."""

_WORST_FIRST: tuple[tuple[InspectionState, frozenset[Problem]], ...] = (
    ("unreadable", frozenset({"crashed", "out_of_memory", "took_too_long"})),
    ("incomplete", frozenset({"missing_volumes"})),
    ("damaged", frozenset({"damaged", "not_an_archive"})),
    ("truncated", frozenset({"truncated"})),
    ("encrypted", frozenset({"encrypted", "encrypted_names"})),
    ("hostile", frozenset({"unsafe_names", "overlapping_entries", "suspicious_ratio"})),
    ("unsupported", frozenset({"unsupported"})),
    ("partial", frozenset({"too_many_entries", "names_too_long", "too_big"})),
)
_ARCHIVE_TYPES = frozenset(
    {
        *("application/zip", "application/vnd.rar", "application/x-7z-compressed", "application/x-tar"),
        *("application/gzip", "application/x-xz", "application/zstd"),
        *("application/vnd.comicbook+zip", "application/vnd.comicbook-rar"),
    }
)
_ARCHIVE_ENDINGS = (".bz2", ".tbz", ".tbz2", ".tzst")


@dataclass(frozen=True)
class ItemFile:
    """A file of an item: one sighting, and what is known of its content."""

    sighting_id: UUID
    file_name: str
    size_bytes: int
    state: FileState
    blob_id: UUID | None = None
    sha256: bytes | None = None
    object_name: str = ""
    stored_at: datetime | None = None

    @property
    def number(self) -> int:
        """The number of the volume that it is; 1 for a file that is none."""
        name = read_volume_name(self.file_name)
        return name.number if name else 1


@dataclass(frozen=True)
class VolumeFiles:
    """One place of an archive, and the files that have its content: the first stored one is used."""

    number: int
    copies: tuple[ItemFile, ...]

    @property
    def source(self) -> ItemFile | None:
        return next((copy for copy in self.copies if copy.blob_id is not None), None)

    @property
    def best(self) -> ItemFile:
        """The file to show: the stored one, or else the first."""
        return self.source or self.copies[0]


def arrange_volumes(files: Iterable[ItemFile]) -> tuple[VolumeFiles, ...]:
    """Return the files of an item by their number, the copies of one volume together.

    Files whose names are not all volumes of one kind are copies of one content under several names.
    """
    everything = sorted(files, key=lambda file: file.sighting_id)
    names = [read_volume_name(file.file_name) for file in everything]
    is_set = all(names) and len({name.family for name in names if name}) == 1
    by_number: dict[int, list[ItemFile]] = {}
    for file in everything:
        by_number.setdefault(file.number if is_set else 1, []).append(file)
    return tuple(VolumeFiles(number, tuple(copies)) for number, copies in sorted(by_number.items()))


def place_volumes(volumes: Sequence[VolumeFiles]) -> tuple[ItemFile | None, ...]:
    """Return what is read as one archive: a file for each number from 1, None for one that is missing."""
    by_number = {volume.number: volume.source for volume in volumes}
    if len(volumes) == 1 and _may_be_whole(volumes[0]):
        return (volumes[0].source,)
    last_zip = (by_number.pop(ZIP_NUMBER),) if ZIP_NUMBER in by_number else ()
    count = min(max(by_number, default=0), MAX_VOLUMES)
    return (*(by_number.get(number) for number in range(1, count + 1)), *last_zip)


def _may_be_whole(volume: VolumeFiles) -> bool:
    """Tell whether a file alone may be a whole archive: `pack.rar` and `pack.zip` usually are."""
    name = read_volume_name(volume.best.file_name)
    return name is None or name.ambiguous


def names_archive(file_name: str) -> bool:
    """Tell whether a name promises an archive."""
    if read_volume_name(file_name) is not None:
        return True
    return type_by_name(file_name) in _ARCHIVE_TYPES or file_name.lower().endswith(_ARCHIVE_ENDINGS)


def may_hold_contents(file_name: str) -> bool:
    """Tell whether to look inside: into what is named as an archive, or says nothing of its type."""
    return names_archive(file_name) or not type_by_name(file_name)


def judge_problems(problems: Sequence[Problem], *, file_name: str) -> InspectionState:
    """Return the state that says the most about what is wrong."""
    if "not_an_archive" in problems and not names_archive(file_name):
        return "plain"
    for state, named in _WORST_FIRST:
        if named.intersection(problems):
            return state
    return "ok"
