"""Zip: the central directory, read directly.

The standard library's reader keeps every entry before it shows the first, knows no split sets, and says
nothing about entries that overlap.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import cast

from headgate.ingest.contents.collecting import (
    DIRECTORY,
    ENCRYPTED,
    LINK,
    Collector,
    DamagedArchive,
    Truncation,
)
from headgate.ingest.contents.joined import JoinedVolumes, MissingVolume

_END = struct.Struct("<4s4H2IH")
_END_64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR_64 = struct.Struct("<4sIQI")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_EXTRA = struct.Struct("<HH")
_END_MARK = b"PK\x05\x06"
_MAX_COMMENT = 0xFFFF
_BUFFER = 1 << 18
_LOCAL_HEADER_SIZE = 30

_FLAG_ENCRYPTED, _FLAG_UTF8 = 0x1, 0x800
_EXTRA_ZIP64, _EXTRA_TIME, _EXTRA_UNICODE_PATH = 0x0001, 0x5455, 0x7075
_UNIX = 3
_IFMT, _IFLNK = 0o170000, 0o120000


@dataclass(frozen=True)
class Directory:
    """Where the central directory is, and how an entry's place is read."""

    position: int
    size: int
    entry_count: int
    disks: int
    base: int
    """What precedes the archive in its file: the program of one that unpacks itself."""


@dataclass(slots=True)
class ZipEntry:
    """One record of the central directory."""

    name: str
    flags: int
    method: int
    modified_s: float | None
    crc32: int
    packed: int
    size: int
    disk: int
    offset: int
    is_link: bool
    name_length: int

    @property
    def is_encrypted(self) -> bool:
        return bool(self.flags & _FLAG_ENCRYPTED)


def list_zip(volumes: JoinedVolumes, collector: Collector) -> None:
    """Collect the entries of the central directory."""
    directory = find_directory(volumes)
    if directory.disks > max(volumes.count, 1):
        collector.report("missing_volumes")
    spans: list[tuple[int, int]] = []
    packed_sum = 0
    try:
        for entry in read_entries(volumes, directory):
            packed_sum += entry.packed
            if entry.packed and volumes.count >= directory.disks:
                start = place_of(entry, directory, volumes)
                spans.append((start, start + _LOCAL_HEADER_SIZE + entry.name_length + entry.packed))
            collector.add(
                entry.name,
                size=entry.size,
                packed=entry.packed,
                modified_s=entry.modified_s,
                crc32=entry.crc32,
                flags=(DIRECTORY if entry.name.endswith("/") else 0)
                | (ENCRYPTED if entry.is_encrypted else 0)
                | (LINK if entry.is_link else 0),
            )
    finally:
        if _overlap(spans):
            collector.report("overlapping_entries")
        collector.judge_sizes(min(packed_sum, volumes.size))
    if len(collector.rows) < directory.entry_count:
        raise DamagedArchive(f"{directory.entry_count} entries announced, {len(collector.rows)} found")


def find_directory(volumes: JoinedVolumes) -> Directory:
    """Find the central directory from the end of the archive."""
    start = max(0, volumes.size - _END.size - _MAX_COMMENT)
    tail = volumes.read_at(start, volumes.size - start)
    found = _find_end(tail)
    _, disk, first_disk, _, count, size, offset, _ = cast(
        "tuple[bytes, int, int, int, int, int, int, int]", _END.unpack_from(tail, found)
    )
    end = start + found
    # Tools that write to a pipe have a zip64 record also where no field is full.
    if (wide := _read_end_64(volumes, end)) is not None:
        end, disk, first_disk, count, size, offset = wide
    if disk > 0:
        # Of an incomplete set the last volumes are there; the directory is in them.
        first = first_disk - (disk + 1 - volumes.count)
        if first < 0:
            raise MissingVolume("the volume with the central directory is missing")
        return Directory(volumes.starts[min(first, volumes.count)] + offset, size, count, disk + 1, 0)
    base = end - size - offset
    if base < 0:
        raise DamagedArchive("the central directory lies outside the archive")
    return Directory(base + offset, size, count, 1, base)


def _find_end(tail: bytes) -> int:
    """Find the last record, preferably one that ends with the archive: zips inside have such records, too."""
    at = tail.rfind(_END_MARK)
    fallback = -1
    while at >= 0:
        after = at + _END.size
        if after + int.from_bytes(tail[after - 2 : after], "little") == len(tail):
            return at
        if fallback < 0 and after <= len(tail):
            fallback = at
        at = tail.rfind(_END_MARK, 0, at)
    if fallback < 0:
        raise Truncation("there is no central directory")
    return fallback


def _read_end_64(volumes: JoinedVolumes, end: int) -> tuple[int, int, int, int, int, int] | None:
    locator_at = end - _LOCATOR_64.size
    raw = volumes.read_at(max(0, locator_at), _LOCATOR_64.size)
    if locator_at < 0 or not raw.startswith(b"PK\x06\x07"):
        return None
    _, end_disk, offset, _ = cast("tuple[bytes, int, int, int]", _LOCATOR_64.unpack(raw))
    start = volumes.starts[end_disk] if 0 < end_disk < volumes.count else 0
    for at in (start + offset, locator_at - _END_64.size):
        raw = volumes.read_at(at, _END_64.size) if 0 <= at < volumes.size else b""
        if len(raw) == _END_64.size and raw.startswith(b"PK\x06\x06"):
            _, _, _, _, disk, first_disk, _, count, size, cd_offset = cast(
                "tuple[bytes, int, int, int, int, int, int, int, int, int]", _END_64.unpack(raw)
            )
            return at, disk, first_disk, count, size, cd_offset
    raise DamagedArchive("the zip64 directory is not where it should be")


def read_entries(volumes: JoinedVolumes, directory: Directory) -> Iterator[ZipEntry]:
    """Read the central directory piece by piece."""
    position, left = directory.position, min(directory.size, volumes.size - directory.position)
    buffer, at = b"", 0
    while left > 0 or at < len(buffer):
        if len(buffer) - at < _ENTRY.size + 3 * 0xFFFF and left > 0:
            piece = volumes.read_at(position, min(_BUFFER, left))
            if not piece:
                raise Truncation("the central directory ends too early")
            buffer, at = buffer[at:] + piece, 0
            position, left = position + len(piece), left - len(piece)
        mark = buffer[at : at + 4]
        if mark in {b"PK\x05\x05", b"PK\x06\x06"}:
            return
        if mark != b"PK\x01\x02":
            raise DamagedArchive("a record of the central directory is damaged")
        if len(buffer) - at < _ENTRY.size:
            raise Truncation("the central directory ends too early")
        entry, at = _read_entry(buffer, at)
        yield entry


def _read_entry(buffer: bytes, at: int) -> tuple[ZipEntry, int]:
    fields = cast("tuple[int, ...]", _ENTRY.unpack_from(buffer, at)[1:])
    made_by, _, flags, method, time, date, crc32, packed, size = fields[:9]
    name_length, extra_length, comment_length, disk, _, outside, offset = fields[9:]
    name_at = at + _ENTRY.size
    raw = buffer[name_at : name_at + name_length]
    extra = buffer[name_at + name_length : name_at + name_length + extra_length]
    after = name_at + name_length + extra_length + comment_length
    if len(raw) < name_length or after > len(buffer):
        raise Truncation("a record ends too early")
    modified_s = _dos_time(date, time)
    name = _decode(raw, flags)
    if extra:
        for kind, value in _extras(extra):
            if kind == _EXTRA_ZIP64:
                size, packed, offset, disk = _widen(value, size, packed, offset, disk)
            elif kind == _EXTRA_TIME and len(value) >= 5 and value[0] & 1:
                modified_s = float(struct.unpack_from("<i", value, 1)[0])
            elif kind == _EXTRA_UNICODE_PATH and len(value) > 5 and value[0] == 1:
                name = value[5:].decode("utf-8", "replace")
    is_link = made_by >> 8 == _UNIX and (outside >> 16) & _IFMT == _IFLNK
    return (
        ZipEntry(name, flags, method, modified_s, crc32, packed, size, disk, offset, is_link, name_length),
        after,
    )


def place_of(entry: ZipEntry, directory: Directory, volumes: JoinedVolumes) -> int:
    """Return where an entry's local header is in the joined volumes."""
    if directory.disks == 1:
        return directory.base + entry.offset
    volume = entry.disk - (directory.disks - volumes.count)
    if not 0 <= volume < volumes.count:
        raise MissingVolume(f"volume {entry.disk + 1} is missing")
    return volumes.starts[volume] + entry.offset


def _decode(raw: bytes, flags: int) -> str:
    if raw.isascii():
        return raw.decode("ascii")
    if flags & _FLAG_UTF8:
        return raw.decode("utf-8", "surrogateescape")
    try:
        # Many tools write UTF-8 without saying so, and cp437 text is hardly ever valid UTF-8.
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def _extras(extra: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _EXTRA.size <= len(extra):
        kind, length = cast("tuple[int, int]", _EXTRA.unpack_from(extra, at))
        yield kind, extra[at + 4 : at + 4 + length]
        at += 4 + length


def _widen(value: bytes, size: int, packed: int, offset: int, disk: int) -> tuple[int, int, int, int]:
    """Replace fields that are full by those of the zip64 record, which holds only these."""
    wide = [number for (number,) in struct.iter_unpack("<Q", value[: len(value) & ~7])]
    fields = [size, packed, offset]
    for index, field in enumerate(fields):
        if field == 0xFFFFFFFF and wide:
            fields[index] = wide.pop(0)
    if disk == 0xFFFF and len(value) % 8 == 4:
        disk = int.from_bytes(value[-4:], "little")
    return fields[0], fields[1], fields[2], disk


@lru_cache(maxsize=256)
def _dos_time(date: int, time: int) -> float | None:
    """Return a time without a zone as if it were UTC."""
    try:
        return datetime(
            (date >> 9) + 1980,
            date >> 5 & 15,
            date & 31,
            time >> 11,
            time >> 5 & 63,
            min((time & 31) * 2, 59),
            tzinfo=UTC,
        ).timestamp()
    except ValueError:
        return None


def _overlap(spans: list[tuple[int, int]]) -> bool:
    spans.sort()
    return any(before[1] > after[0] for before, after in pairwise(spans))
