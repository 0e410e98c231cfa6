"""Collects what a reader finds in an archive, within the limits."""

from __future__ import annotations

from typing import Any

from headgate.domain.library.contents import (
    MAX_SIZE_BYTES,
    ArchiveEntry,
    ArchiveFormat,
    ContentLimits,
    Listing,
    Problem,
    is_suspicious,
    sane_time,
)
from headgate.domain.library.shown_paths import is_unsafe, shown_path
from headgate.kernel.clock import RealClock, utc_from_timestamp

Row = tuple[str, str | None, int | None, int | None, int | None, int | None, int]
"""An entry between the processes: raw path, shown path if it differs, sizes, time, CRC, flags."""

DIRECTORY, ENCRYPTED, LINK = 1, 2, 4


class Full(Exception):
    """A limit is reached; what was collected stays."""


class DamagedArchive(Exception):
    """The archive contradicts itself."""


class Truncation(DamagedArchive):
    """The archive ends before it should."""


class Unsupported(Exception):
    """The archive is in order, and this reader cannot read it."""


class NamesEncrypted(Exception):
    """A password is needed to see what is inside."""


class Collector:
    """Entries and problems of one archive."""

    def __init__(self, limits: ContentLimits) -> None:
        self.limits = limits
        self.rows: list[Row] = []
        self.problems: dict[Problem, None] = {}
        self.format: ArchiveFormat | None = None
        self.is_solid = False
        self.detail = ""
        self._names_length = 0
        self._unpacked_bytes = 0
        self._clock = RealClock()
        self._deadline_s = self._clock.monotonic() + limits.max_read_s

    def add(
        self,
        raw: str,
        *,
        size: int | None,
        packed: int | None = None,
        modified_s: float | None = None,
        crc32: int | None = None,
        flags: int = 0,
    ) -> None:
        """Add an entry; raises `Full` when there are too many."""
        if len(raw) > self.limits.max_path_length:
            self.report("names_too_long")
            raw = raw[: self.limits.max_path_length]
        self._names_length += len(raw)
        if len(self.rows) >= self.limits.max_entries or self._names_length > self.limits.max_names_length:
            self.report("too_many_entries")
            raise Full
        if is_unsafe(raw):
            self.report("unsafe_names")
        if flags & ENCRYPTED:
            self.report("encrypted")
        if size is not None:
            self._unpacked_bytes += size
            size = min(size, MAX_SIZE_BYTES)
        if packed is not None:
            packed = min(packed, MAX_SIZE_BYTES)
        shown = shown_path(raw)
        changed = None if shown == raw else shown
        self.rows.append((raw, changed, size, packed, sane_time(modified_s), crc32, flags))

    def report(self, problem: Problem, detail: object = "") -> None:
        self.problems[problem] = None
        self.detail = self.detail or str(detail)[:500]

    def judge_sizes(self, packed_bytes: int) -> None:
        """Report what unpacks to too much, absolutely or for its size."""
        if self._unpacked_bytes > self.limits.max_unpacked_bytes:
            self.report("too_big")
        if is_suspicious(
            unpacked_bytes=self._unpacked_bytes,
            packed_bytes=packed_bytes,
            max_ratio=self.limits.max_ratio,
            free_bytes=self.limits.ratio_free_bytes,
        ):
            self.report("suspicious_ratio")

    def check_time(self) -> None:
        """End the listing with what it has, before the sandbox ends it with nothing."""
        if self._clock.monotonic() > self._deadline_s:
            self.report("took_too_long")
            raise Full

    def document(self) -> dict[str, Any]:
        """Return the listing as JSON can say it."""
        return {
            "format": self.format,
            "rows": self.rows,
            "problems": list(self.problems),
            "is_solid": self.is_solid,
            "detail": self.detail,
        }


def read_document(document: dict[str, Any]) -> Listing:
    """Return the listing that a subprocess has sent."""
    return Listing(
        format=document["format"],
        entries=tuple(_read_row(number, row) for number, row in enumerate(document["rows"])),
        problems=tuple(document["problems"]),
        is_solid=document["is_solid"],
        detail=document["detail"],
    )


def _read_row(number: int, row: Row) -> ArchiveEntry:
    raw, shown, size, packed, modified_s, crc32, flags = row
    return ArchiveEntry(
        number,
        raw,
        raw if shown is None else shown,
        size,
        packed,
        None if modified_s is None else utc_from_timestamp(modified_s),
        crc32,
        bool(flags & DIRECTORY),
        bool(flags & ENCRYPTED),
        bool(flags & LINK),
    )
