"""What is inside an archive: its entries, and what is wrong with it.

Everything that an archive says about itself is a claim of its maker. Entries are named by their number, never
by their path: two may have the same path, and none of them is ever used as a path on this machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

ArchiveFormat = Literal["zip", "rar4", "rar5", "7z", "tar", "gz", "bz2", "xz", "zst"]

Problem = Literal[
    # The archive cannot be read, or not all of it.
    "not_an_archive",
    "encrypted",
    "encrypted_names",
    "damaged",
    "truncated",
    "missing_volumes",
    "unsupported",
    # It is hostile, or looks like it.
    "unsafe_names",
    "overlapping_entries",
    "suspicious_ratio",
    # It exceeds a limit; what is within the limit is listed.
    "too_many_entries",
    "names_too_long",
    "too_big",
    # Reading it broke a limit of the sandbox.
    "out_of_memory",
    "took_too_long",
    "crashed",
    # Extracting only.
    "no_such_entry",
    "not_a_file",
    "no_unpacker",
    "disk_full",
]

INCOMPLETE: frozenset[Problem] = frozenset(
    {
        *("not_an_archive", "encrypted_names", "damaged", "truncated", "missing_volumes", "unsupported"),
        *("too_many_entries", "out_of_memory", "took_too_long", "crashed"),
    }
)
"""With one of these, there may be more inside than the listing has."""

MAX_SIZE_BYTES = 2**63 - 1
"""Larger claims are cut to this, so that every size fits a column."""

EARLIEST_SANE_S = int(datetime(1980, 1, 2, tzinfo=UTC).timestamp())
LATEST_SANE_S = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())


@dataclass(frozen=True)
class ContentLimits:
    """How much of an archive is read; what exceeds a limit is a problem of the listing."""

    max_entries: int = 100_000
    max_path_length: int = 4_096
    """Characters of a path as the archive has it; the rest is cut."""
    max_names_length: int = 16 * 2**20
    """Characters of all paths together."""
    max_unpacked_bytes: int = 4 * 2**40
    max_ratio: float = 250.0
    """Unpacked over packed size; a ratio counts only above `ratio_free_bytes`."""
    ratio_free_bytes: int = 64 * 2**20
    max_read_s: float = 20.0
    """After this, a listing that needs unpacking (compressed tar) ends with what it has."""


@dataclass(frozen=True)
class ExtractionLimits:
    """How much may be unpacked for one file."""

    max_bytes: int = 2 * 2**30
    max_ratio: float = 250.0
    ratio_free_bytes: int = 64 * 2**20


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One file, directory or link inside an archive."""

    number: int
    """Its place in the archive, from 0: the only name by which it is extracted."""
    raw_path: str
    """As the archive has it; may hold NUL, lone surrogates or `../`."""
    path: str
    """Safe to show; see `shown_path`."""
    size_bytes: int | None
    packed_bytes: int | None
    """None where several entries share compressed bytes."""
    modified_at: datetime | None
    crc32: int | None
    is_directory: bool = False
    is_encrypted: bool = False
    is_link: bool = False

    @property
    def raw_bytes(self) -> bytes:
        """The raw path for a column of bytes; a text column refuses NUL and lone surrogates."""
        return self.raw_path.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Listing:
    """What is inside an archive, as far as it could be read."""

    format: ArchiveFormat | None = None
    entries: tuple[ArchiveEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_solid: bool = False
    """Extracting a late entry means unpacking the ones before it."""
    detail: str = ""
    """What the reader said about a problem, for logs."""

    @property
    def is_complete(self) -> bool:
        """Whether the listing has everything that is inside."""
        return not INCOMPLETE.intersection(self.problems)

    @property
    def unpacked_bytes(self) -> int:
        return min(sum(entry.size_bytes or 0 for entry in self.entries), MAX_SIZE_BYTES)


@dataclass(frozen=True)
class Extraction:
    """How extracting one file ended; with a problem, what was written is not to be used."""

    size_bytes: int = 0
    problem: Problem | None = None
    detail: str = ""


def sane_time(seconds: float | None) -> int | None:
    """Return a Unix time if it can be a file's; archives hold zeros, garbage and far futures."""
    if seconds is None or not EARLIEST_SANE_S <= seconds <= LATEST_SANE_S:
        return None
    return int(seconds)


def is_suspicious(*, unpacked_bytes: int, packed_bytes: int, max_ratio: float, free_bytes: int) -> bool:
    """Tell whether so much cannot honestly come out of so little."""
    return unpacked_bytes > free_bytes and unpacked_bytes > max_ratio * max(packed_bytes, 1)
