"""Tells the format of an archive by its first bytes; its name may say anything."""

from __future__ import annotations

from headgate.domain.library.contents import ArchiveFormat
from headgate.ingest.contents.formats import rar4, rar5, seven_zip
from headgate.ingest.contents.formats.rar import MAX_SFX_BYTES
from headgate.ingest.contents.formats.tar import BLOCK, looks_like_tar
from headgate.ingest.contents.joined import JoinedVolumes

_MAGIC: tuple[tuple[bytes, ArchiveFormat], ...] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PK\x07\x08", "zip"),
    (b"PK00PK\x03\x04", "zip"),
    (rar5.SIGNATURE, "rar5"),
    (rar4.SIGNATURE, "rar4"),
    (seven_zip.SIGNATURE, "7z"),
    (b"\x1f\x8b\x08", "gz"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zst"),
)
_PROGRAMS = (b"MZ", b"\x7fELF")
_ZIP_END = b"PK\x05\x06"
_MAX_ZIP_TAIL = 22 + 0xFFFF


def recognise(volumes: JoinedVolumes) -> ArchiveFormat | None:
    """Return the format; of a set with missing volumes, what those that are there show."""
    for volume in range(volumes.count):
        if volumes.has(volume):
            head = volumes.read_at(volumes.starts[volume], BLOCK)
            kind = format_of_head(head)
            # A volume in the middle of a raw split can begin with anything.
            if kind in {"rar4", "rar5"} or (kind and volume == 0):
                return kind
            if volume == 0 and head.startswith(_PROGRAMS) and (kind := _behind_program(volumes)):
                return kind
    return "zip" if _ends_like_zip(volumes) else None


def format_of_head(head: bytes) -> ArchiveFormat | None:
    """Return the format that the first 512 bytes of a file show."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "tar" if looks_like_tar(head[:BLOCK]) else None


def _behind_program(volumes: JoinedVolumes) -> ArchiveFormat | None:
    head = volumes.read_at(0, MAX_SFX_BYTES)
    if rar5.SIGNATURE in head:
        return "rar5"
    return "rar4" if rar4.SIGNATURE in head else None


def _ends_like_zip(volumes: JoinedVolumes) -> bool:
    last = volumes.count - 1
    if last < 0 or not volumes.has(last):
        return False
    start = max(volumes.starts[last], volumes.size - _MAX_ZIP_TAIL)
    return _ZIP_END in volumes.read_at(start, volumes.size - start)
