"""RAR 1.5 to 4: fixed headers, and names in a Unicode encoding of their own."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from typing import cast
from zlib import crc32

from headgate.ingest.contents.collecting import DamagedArchive, Truncation
from headgate.ingest.contents.formats.rar_blocks import RarBlock, RarFile
from headgate.ingest.contents.joined import JoinedVolumes

SIGNATURE = b"Rar!\x1a\x07\x00"
_BLOCK = struct.Struct("<HBHH")
_FILE_FIELDS = struct.Struct("<2IBIIBBHI")

_MAIN, _FILE, _END = 0x73, 0x74, 0x7B
_HAS_DATA = 0x8000
_VOLUME, _SOLID, _PASSWORD = 0x1, 0x8, 0x80
_NEXT_VOLUME, _HAS_DATA_CRC, _HAS_NUMBER = 0x1, 0x2, 0x8
_SPLIT_BEFORE, _SPLIT_AFTER, _FILE_PASSWORD = 0x1, 0x2, 0x4
_WINDOW_MASK, _LARGE, _UNICODE = 0xE0, 0x100, 0x200
_UNIX_HOSTS = frozenset({3, 5})
_STORED = 0x30
_IFMT, _IFLNK = 0o170000, 0o120000


def read_block(volumes: JoinedVolumes, at: int) -> RarBlock | None:
    """Read the header at a place of a volume; None at the end of the file, which old versions do not mark."""
    raw = volumes.read_at(at, _BLOCK.size)
    if not raw:
        return None
    if len(raw) < _BLOCK.size:
        raise Truncation("a header ends too early")
    crc, kind, flags, length = cast("tuple[int, int, int, int]", _BLOCK.unpack(raw))
    if length < _BLOCK.size:
        raise DamagedArchive("a header is too small")
    raw = volumes.read_at(at, length)
    if len(raw) < length:
        raise Truncation("a header ends too early")
    # Comments inside old main and file headers are outside the CRC; everything newer is inside.
    if (
        kind in {_FILE, _END}
        and not flags & _HAS_OLD_COMMENT_OF.get(kind, 0)
        and crc32(raw[2:]) & 0xFFFF != crc
    ):
        raise DamagedArchive("the CRC of a header is wrong")
    data_size = int.from_bytes(raw[7:11], "little") if flags & _HAS_DATA and length >= 11 else 0
    end = at + length
    if kind == _MAIN:
        return RarBlock(
            *("main", end, data_size),
            is_volume=bool(flags & _VOLUME),
            is_solid=bool(flags & _SOLID),
            names_encrypted=bool(flags & _PASSWORD),
        )
    if kind == _END:
        return RarBlock(
            *("end", end, data_size),
            volume_number=_end_number(raw, flags),
            has_next=bool(flags & _NEXT_VOLUME),
        )
    if kind == _FILE:
        file, data_size = _parse_file(raw, flags)
        return RarBlock("file", end, data_size, file=file)
    return RarBlock("other", end, data_size)


_HAS_OLD_COMMENT_OF = {_FILE: 0x8}


def _end_number(raw: bytes, flags: int) -> int | None:
    at = _BLOCK.size + (4 if flags & _HAS_DATA_CRC else 0)
    return int.from_bytes(raw[at : at + 2], "little") if flags & _HAS_NUMBER else None


def _parse_file(raw: bytes, flags: int) -> tuple[RarFile, int]:
    at = _BLOCK.size
    if len(raw) < at + _FILE_FIELDS.size:
        raise DamagedArchive("a file's header is too small")
    packed, size, host, crc, time, _version, method, name_length, attributes = cast(
        "tuple[int, ...]", _FILE_FIELDS.unpack_from(raw, at)
    )
    at += _FILE_FIELDS.size
    if flags & _LARGE:
        if len(raw) < at + 8:
            raise DamagedArchive("a file's header is too small")
        high_packed, high_size = struct.unpack_from("<2I", raw, at)
        packed, size, at = packed | high_packed << 32, size | high_size << 32, at + 8
    file = RarFile(
        name=_decode_name(raw[at : at + name_length], flags),
        size=None if size == 0xFFFFFFFF and not flags & _LARGE else size,
        modified_s=_dos_time(time),
        crc32=crc,
        is_directory=flags & _WINDOW_MASK == _WINDOW_MASK,
        is_encrypted=bool(flags & _FILE_PASSWORD),
        is_link=host in _UNIX_HOSTS and attributes & _IFMT == _IFLNK,
        is_stored=method == _STORED,
        split_before=bool(flags & _SPLIT_BEFORE),
        split_after=bool(flags & _SPLIT_AFTER),
    )
    return file, packed


def _decode_name(raw: bytes, flags: int) -> str:
    if flags & _UNICODE:
        plain, nul, encoded = raw.partition(b"\0")
        if nul:
            return _decode_unicode(plain, encoded).replace("\\", "/")
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        name = raw.decode("windows-1252", "replace")
    return name.replace("\\", "/")


def _decode_unicode(plain: bytes, encoded: bytes) -> str:
    """Decode a name that is given as differences to its plain form.

    Two bits say how the next character is stored: one byte, one byte with the shared high byte, two bytes, or
    a run that is copied from the plain name.
    """
    if not encoded:
        return plain.decode("utf-8", "replace")
    high, at, flag_bits, flags = encoded[0], 1, 0, 0
    units = bytearray()

    def take() -> int:
        nonlocal at
        at += 1
        return encoded[at - 1] if at <= len(encoded) else 0

    while at < len(encoded):
        if not flag_bits:
            flags, flag_bits = take(), 8
        flag_bits -= 2
        match flags >> flag_bits & 3:
            case 0:
                units += bytes((take(), 0))
            case 1:
                units += bytes((take(), high))
            case 2:
                units += bytes((take(), take()))
            case _:
                length = take()
                shift = take() if length & 0x80 else 0
                upper = high if length & 0x80 else 0
                begin = len(units) // 2
                for byte in plain[begin : begin + (length & 0x7F) + 2]:
                    units += bytes(((byte + shift) & 0xFF, upper))
    return units.decode("utf-16-le", "surrogatepass")


def _dos_time(value: int) -> float | None:
    try:
        return datetime(
            (value >> 25) + 1980,
            value >> 21 & 15,
            value >> 16 & 31,
            value >> 11 & 31,
            value >> 5 & 63,
            min((value & 31) * 2, 59),
            tzinfo=UTC,
        ).timestamp()
    except ValueError:
        return None
