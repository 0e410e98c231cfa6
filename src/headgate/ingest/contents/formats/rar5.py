"""RAR 5: headers of variable-length numbers, each with a CRC of its own."""

from __future__ import annotations

from zlib import crc32

from headgate.ingest.contents.collecting import DamagedArchive, Truncation
from headgate.ingest.contents.formats.rar_blocks import RarBlock, RarFile
from headgate.ingest.contents.joined import JoinedVolumes

SIGNATURE = b"Rar!\x1a\x07\x01\x00"
_MAX_HEADER = 2 * 2**20
_FIRST_READ = 512

_MAIN, _FILE, _SERVICE, _ENCRYPTION, _END = 1, 2, 3, 4, 5
_HAS_EXTRA, _HAS_BODY, _SPLIT_BEFORE, _SPLIT_AFTER = 0x1, 0x2, 0x8, 0x10
_VOLUME, _HAS_NUMBER, _SOLID = 0x1, 0x2, 0x4
_DIRECTORY, _HAS_TIME, _HAS_CRC, _SIZE_UNKNOWN = 0x1, 0x2, 0x4, 0x8
_EXTRA_ENCRYPTION, _EXTRA_TIME, _EXTRA_LINK = 1, 3, 5
_LINK_KINDS, _COPY_KINDS = frozenset({1, 2, 3}), frozenset({4, 5})
_METHOD_SHIFT, _METHOD_MASK = 7, 7
_EPOCH_1601_S = 11_644_473_600


class _Numbers:
    """Reads a header from left to right."""

    def __init__(self, raw: bytes, at: int = 0) -> None:
        self.raw = raw
        self.at = at

    def number(self) -> int:
        raw, at = self.raw, self.at
        value = shift = 0
        while at < len(raw) and shift < 64:
            byte = raw[at]
            at += 1
            if byte < 0x80:
                self.at = at
                return value | byte << shift
            value |= (byte & 0x7F) << shift
            shift += 7
        raise DamagedArchive("a number ends too early")

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.raw):
            raise DamagedArchive("a field ends too early")
        self.at += count
        return self.raw[self.at - count : self.at]

    def uint32(self) -> int:
        return int.from_bytes(self.take(4), "little")


def read_block(volumes: JoinedVolumes, at: int, limit: int) -> RarBlock:
    """Read the header at a place of a volume that goes up to a limit."""
    raw = volumes.read_at(at, min(_FIRST_READ, limit - at))
    if len(raw) < 7:
        raise Truncation("the archive ends without its end")
    numbers = _Numbers(raw, 4)
    length = numbers.number()
    if not length or length > _MAX_HEADER:
        raise DamagedArchive("a header is too large")
    end = numbers.at + length
    if end > len(raw):
        raw = volumes.read_at(at, min(end, limit - at))
        if len(raw) < end:
            raise Truncation("a header ends too early")
    raw = raw[:end]
    if crc32(memoryview(raw)[4:]) != int.from_bytes(raw[:4], "little"):
        raise DamagedArchive("the CRC of a header is wrong")
    return _parse(_Numbers(raw, numbers.at), at + end)


def _parse(numbers: _Numbers, header_end: int) -> RarBlock:
    kind, flags = numbers.number(), numbers.number()
    extra_size = numbers.number() if flags & _HAS_EXTRA else 0
    body_size = numbers.number() if flags & _HAS_BODY else 0
    if kind == _MAIN:
        main = numbers.number()
        number = numbers.number() if main & _HAS_NUMBER else 0
        return RarBlock(
            *("main", header_end, body_size),
            is_volume=bool(main & _VOLUME),
            volume_number=number,
            is_solid=bool(main & _SOLID),
        )
    if kind == _END:
        return RarBlock("end", header_end, body_size, has_next=bool(numbers.number() & 1))
    if kind == _ENCRYPTION:
        return RarBlock("encryption", header_end, body_size, names_encrypted=True)
    if kind == _FILE:
        file = _parse_file(numbers, flags, extra_size)
        return RarBlock("file", header_end, body_size, file=file)
    return RarBlock("other", header_end, body_size)


def _parse_file(numbers: _Numbers, block_flags: int, extra_size: int) -> RarFile:
    flags, size, _attributes = numbers.number(), numbers.number(), numbers.number()
    modified_s = float(numbers.uint32()) if flags & _HAS_TIME else None
    crc = numbers.uint32() if flags & _HAS_CRC else None
    compression, _host = numbers.number(), numbers.number()
    name = numbers.take(numbers.number()).decode("utf-8", "surrogateescape")
    extras = _read_extras(numbers, extra_size)
    link_kind, target = _read_link(extras.get(_EXTRA_LINK, b""))
    is_link = link_kind in _LINK_KINDS
    return RarFile(
        name=name,
        size=None if flags & _SIZE_UNKNOWN else size,
        modified_s=_extra_time(extras.get(_EXTRA_TIME, b"")) or modified_s,
        crc32=crc,
        is_directory=bool(flags & _DIRECTORY) and not is_link,
        is_encrypted=_EXTRA_ENCRYPTION in extras,
        is_link=is_link,
        is_stored=not compression >> _METHOD_SHIFT & _METHOD_MASK and _EXTRA_LINK not in extras,
        split_before=bool(block_flags & _SPLIT_BEFORE),
        split_after=bool(block_flags & _SPLIT_AFTER),
        copy_of=target if link_kind in _COPY_KINDS else "",
    )


def _read_extras(numbers: _Numbers, extra_size: int) -> dict[int, bytes]:
    numbers.at = max(numbers.at, len(numbers.raw) - extra_size)
    extras: dict[int, bytes] = {}
    # Some versions of RAR leave one byte too many.
    while extra_size and numbers.at < len(numbers.raw) - 1:
        record = _Numbers(numbers.take(numbers.number()))
        kind = record.number()
        extras[kind] = record.raw[record.at :]
    return extras


def _read_link(raw: bytes) -> tuple[int, str]:
    """Return the kind and the target of a link or a copy; zero if it is neither."""
    if not raw:
        return 0, ""
    numbers = _Numbers(raw)
    kind, _flags = numbers.number(), numbers.number()
    return kind, numbers.take(numbers.number()).decode("utf-8", "surrogateescape")


def _extra_time(raw: bytes) -> float | None:
    """Read the modification time of a time record, in Unix or Windows form."""
    if not raw:
        return None
    numbers = _Numbers(raw)
    flags = numbers.number()
    if not flags & 2:
        return None
    if flags & 1:
        return float(numbers.uint32())
    ticks = int.from_bytes(numbers.take(8), "little")
    return ticks / 10_000_000 - _EPOCH_1601_S
