"""The body of an answer, unpacked piece by piece so that neither end of it passes its bound."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Callable, Iterator
from typing import Protocol

from headgate.domain.errors import Malformed

ACCEPTED = "gzip, deflate"
"""What `read_body` can unpack with a bound; others are not asked for."""

_MAX_CODINGS = 2
_PIECE_BYTES = 65536
_GZIP = b"\x1f\x8b"
_MAX_MEMBERS = 1000


class _Unpacker(Protocol):
    def take(self, piece: bytes) -> Iterator[bytes]:
        """Yield what a piece holds, in pieces of a bounded size."""
        ...


class _Plain:
    def take(self, piece: bytes) -> Iterator[bytes]:
        yield piece


class _Zipped:
    """gzip with all its members, or deflate with or without its header; servers do not agree on that."""

    def __init__(self, coding: str) -> None:
        self._raw_next = coding == "deflate"
        self._members = 0 if self._raw_next else 1
        self._unzip = zlib.decompressobj(zlib.MAX_WBITS | (0 if self._raw_next else 16))
        self._behind = b""

    def take(self, piece: bytes) -> Iterator[bytes]:
        unpacked = self._some(piece)
        yield unpacked
        # As long as pieces come full, more may wait behind them, even when all input is taken in.
        while self._has_more(unpacked) or self._begin_member():
            unpacked = self._some(self._unzip.unconsumed_tail or self._taken())
            yield unpacked

    def _has_more(self, unpacked: bytes) -> bool:
        ended = self._unzip.eof
        return not ended and (bool(self._unzip.unconsumed_tail) or len(unpacked) == _PIECE_BYTES)

    def _some(self, piece: bytes) -> bytes:
        if self._unzip.eof:
            self._behind += piece
            return b""
        try:
            unpacked = self._unzip.decompress(piece, _PIECE_BYTES)
        except zlib.error as error:
            if not self._raw_next:
                raise Malformed("the answer is compressed, and broken") from error
            self._raw_next = False
            self._unzip = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._some(piece)
        self._raw_next = False
        if self._unzip.eof:
            self._behind = self._unzip.unused_data
        return unpacked

    def _begin_member(self) -> bool:
        """Go on with the next member of a gzip file; what else stands behind its end is padding."""
        if not (self._members and self._unzip.eof and self._behind.startswith(_GZIP)):
            return False
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise Malformed("the answer is compressed in more parts than a feed needs")
        self._unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return True

    def _taken(self) -> bytes:
        behind, self._behind = self._behind, b""
        return behind


_CODINGS: dict[str, Callable[[], _Unpacker]] = {
    "": _Plain,
    "identity": _Plain,
    "gzip": lambda: _Zipped("gzip"),
    "x-gzip": lambda: _Zipped("gzip"),
    "deflate": lambda: _Zipped("deflate"),
}


async def read_body(pieces: AsyncIterable[bytes], *, coding: str, max_bytes: int) -> bytes:
    """Return the whole body unpacked; `coding` is the header Content-Encoding."""
    codings = [one.strip().lower() for one in coding.split(",")]
    if len(codings) > _MAX_CODINGS or not all(one in _CODINGS for one in codings):
        raise Malformed(f"the answer is compressed in a way that was not asked for ({coding[:40]})")
    unpackers = [_CODINGS[one]() for one in reversed(codings)]
    body = bytearray()
    received = 0
    async for piece in pieces:
        received += len(piece)
        _check_size(received, max_bytes)
        for unpacked in _unpack(unpackers, piece):
            body += unpacked
            _check_size(len(body), max_bytes)
    return bytes(body)


def _unpack(unpackers: list[_Unpacker], piece: bytes) -> Iterator[bytes]:
    if not unpackers:
        yield piece
        return
    for unpacked in unpackers[0].take(piece):
        yield from _unpack(unpackers[1:], unpacked)


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise Malformed(
            f"the answer is larger than {max_bytes:,} bytes, the most that is read. "
            "If this feed is meant, raise HEADGATE_FEEDS_MAX_BYTES."
        )
