"""What RAR 4 and RAR 5 have in common: blocks with a header, some of which are files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BlockKind = Literal["main", "file", "end", "encryption", "other"]


@dataclass(slots=True)
class RarFile:
    """A file's header in one volume; a file that is split has one in each of its volumes."""

    name: str
    size: int | None
    modified_s: float | None
    crc32: int | None
    is_directory: bool
    is_encrypted: bool
    is_link: bool
    is_stored: bool
    split_before: bool
    split_after: bool
    copy_of: str = ""
    """The path of the entry that has the content of this one, which has none of its own."""


@dataclass(slots=True)
class RarBlock:
    """A header, and where the next one is."""

    kind: BlockKind
    header_end: int
    data_size: int
    is_volume: bool = False
    """Of the main header: the archive has several volumes."""
    volume_number: int | None = None
    """Of the main header or the end, from 0."""
    is_solid: bool = False
    has_next: bool = False
    """Of the end: another volume follows."""
    names_encrypted: bool = False
    file: RarFile | None = None

    @property
    def next_at(self) -> int:
        return self.header_end + self.data_size
