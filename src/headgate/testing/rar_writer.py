"""Writes RAR 5 archives of stored files, also in volumes; there is no free program that does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

SIGNATURE = b"Rar!\x1a\x07\x01\x00"
MODIFIED_S = 1_750_000_000
END_BYTES = 16
"""Room that a volume keeps for its end."""

_MAIN, _FILE, _END = 1, 2, 5
_HAS_BODY, _SPLIT_BEFORE, _SPLIT_AFTER = 0x2, 0x8, 0x10
_VOLUME, _HAS_NUMBER = 0x1, 0x2
_HAS_TIME, _HAS_CRC = 0x2, 0x4
_UNIX = 1


@dataclass(frozen=True)
class _Piece:
    """What of a file goes into one volume."""

    name: str
    content: bytes
    start: int
    end: int

    def encode(self) -> bytes:
        body = self.content[self.start : self.end]
        is_end = self.end == len(self.content)
        split = (_SPLIT_BEFORE if self.start else 0) | (0 if is_end else _SPLIT_AFTER)
        # All headers but the last have the CRC of their piece; the last has that of the whole file.
        crc = crc32(self.content if is_end else body)
        name = self.name.encode("utf-8", "surrogateescape")
        fields = [
            *(_vint(_HAS_TIME | _HAS_CRC), _vint(len(self.content)), _vint(0o100644)),
            *(MODIFIED_S.to_bytes(4, "little"), crc.to_bytes(4, "little")),
            *(_vint(0), _vint(_UNIX), _vint(len(name)), name),
        ]
        return _block(_FILE, _HAS_BODY | split, b"".join(fields), body_size=len(body)) + body


def write_rar(files: Mapping[str, bytes], *, volume_bytes: int | None = None) -> list[bytes]:
    """Return the volumes of an archive: one, or as many as it takes."""
    if volume_bytes is None:
        pieces = (_Piece(name, content, 0, len(content)) for name, content in files.items())
        return [_open_volume(None) + b"".join(piece.encode() for piece in pieces) + _end(has_next=False)]
    bodies = list(_fill(files, volume_bytes))
    return [
        _open_volume(number) + body + _end(has_next=number < len(bodies) - 1)
        for number, body in enumerate(bodies)
    ]


def _fill(files: Mapping[str, bytes], volume_bytes: int) -> Iterator[bytes]:
    """Cut the files into what fits the volumes."""
    room = capacity = volume_bytes - len(_open_volume(0xFFFF)) - END_BYTES
    body = b""
    for name, content in files.items():
        start = 0
        while start < len(content) or not content:
            header = len(_Piece(name, content, start, start).encode()) + END_BYTES
            if room <= header:
                yield body
                body, room = b"", capacity
            end = min(len(content), start + room - header)
            piece = _Piece(name, content, start, end).encode()
            body, room, start = body + piece, room - len(piece), end
            if not content:
                break
    yield body


def _open_volume(number: int | None) -> bytes:
    if number is None:
        return SIGNATURE + _block(_MAIN, 0, _vint(0))
    fields = _vint(_VOLUME | _HAS_NUMBER) + _vint(number) if number else _vint(_VOLUME)
    return SIGNATURE + _block(_MAIN, 0, fields)


def _end(*, has_next: bool) -> bytes:
    return _block(_END, 0, _vint(int(has_next)))


def _block(kind: int, flags: int, fields: bytes, *, body_size: int | None = None) -> bytes:
    header = _vint(kind) + _vint(flags) + (b"" if body_size is None else _vint(body_size)) + fields
    sized = _vint(len(header)) + header
    return crc32(sized).to_bytes(4, "little") + sized


def _vint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))
