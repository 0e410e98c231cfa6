"""Unpacks one entry of an archive into a sink that knows its limits."""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol, cast

from headgate.ingest.contents.collecting import Collector, DamagedArchive, Truncation, Unsupported
from headgate.ingest.contents.formats import tar
from headgate.ingest.contents.formats.compressed import holds_tar, open_unpacked
from headgate.ingest.contents.formats.zip import ZipEntry, find_directory, place_of, read_entries
from headgate.ingest.contents.joined import JoinedVolumes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE = 2**18
_LOCAL = struct.Struct("<4s5H3I2H")
_STORED, _DEFLATED, _BZIP2, _LZMA, _ZSTD = 0, 8, 12, 14, 93


class EntryError(Exception):
    """The entry cannot be extracted for a reason that has a name."""

    def __init__(self, problem: str, detail: object = "") -> None:
        super().__init__(str(detail) or problem)
        self.problem = problem


class Sink(Protocol):
    """Takes what is unpacked; raises when it is too much."""

    def begin(self, *, size: int | None, packed: int | None, crc32: int | None) -> None: ...

    def write(self, piece: bytes) -> None: ...


class Decoder(Protocol):
    """What the decoders of the standard library have in common."""

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...

    @property
    def eof(self) -> bool: ...


def unpack_zip(volumes: JoinedVolumes, number: int, sink: Sink) -> None:
    """Unpack an entry of a zip."""
    directory = find_directory(volumes)
    entry = _nth(read_entries(volumes, directory), number)
    if entry.is_encrypted:
        raise EntryError("encrypted")
    if entry.name.endswith("/") or entry.is_link:
        raise EntryError("not_a_file")
    at = place_of(entry, directory, volumes)
    local = volumes.read_at(at, _LOCAL.size)
    if len(local) < _LOCAL.size or not local.startswith(b"PK\x03\x04"):
        raise DamagedArchive("the entry is not where the directory says")
    fields = cast("tuple[int, ...]", _LOCAL.unpack(local)[1:])
    sink.begin(size=entry.size, packed=entry.packed, crc32=entry.crc32)
    volumes.seek(at + _LOCAL.size + fields[-2] + fields[-1])
    _decode(_pieces(volumes, entry.packed), _zip_decoder(entry, volumes), sink)


def _zip_decoder(entry: ZipEntry, volumes: JoinedVolumes) -> Decoder | None:
    match entry.method:
        case 0:
            return None
        case 8:
            return _Inflater()
        case 12:
            return bz2.BZ2Decompressor()
        case 14:
            return _zip_lzma(volumes, entry)
        case 93:
            return cast("Decoder", zstd.ZstdDecompressor())
        case method:
            raise Unsupported(f"packed with method {method}")


class _Inflater:
    """Raw deflate with the interface of the other decoders."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(-15)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, max(0, max_length))


def _zip_lzma(volumes: JoinedVolumes, entry: ZipEntry) -> Decoder:
    """Zip puts the properties of LZMA before its bytes, in a form of its own."""
    head = volumes.read(9)
    if len(head) < 9 or head[2:4] != b"\x05\x00" or head[4] >= 225:
        raise DamagedArchive("the properties of LZMA are damaged")
    window = min(max(4096, int.from_bytes(head[5:9], "little")), max(4096, entry.size))
    filters = [
        {
            "id": lzma.FILTER_LZMA1,
            "dict_size": window,
            "lc": head[4] % 9,
            "lp": head[4] // 9 % 5,
            "pb": head[4] // 45,
        }
    ]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=cast("Any", filters))


def _pieces(stream: io.RawIOBase, length: int) -> Iterator[bytes]:
    while length > 0:
        piece = stream.read(min(PIECE, length))
        if not piece:
            raise Truncation("the packed bytes end too early")
        length -= len(piece)
        yield piece


def _decode(pieces: Iterator[bytes], decoder: Decoder | None, sink: Sink) -> None:
    """Unpack with little memory: at most one piece comes out of the decoder at a time."""
    for piece in pieces:
        if decoder is None:
            sink.write(piece)
            continue
        out = decoder.decompress(piece, PIECE)
        while out:
            sink.write(out)
            out = b"" if decoder.eof else decoder.decompress(b"", PIECE)
        if decoder.eof:
            return


def unpack_stream(volumes: JoinedVolumes, number: int, sink: Sink, collector: Collector) -> None:
    """Unpack an entry of a tar, or the one file of a compressed stream."""
    kind = collector.format
    assert kind is not None  # noqa: S101 - it was recognised before
    stream = open_unpacked(kind, volumes, collector)
    if kind == "tar" or holds_tar(stream):
        _unpack_tar(stream, number, sink, collector.check_time)
        return
    if number:
        raise EntryError("no_such_entry")
    sink.begin(size=None, packed=volumes.size, crc32=None)
    while piece := stream.read(PIECE):
        sink.write(piece)


def _unpack_tar(stream: io.BufferedReader, number: int, sink: Sink, check: Callable[[], None]) -> None:
    for index, entry in enumerate(tar.read_entries(stream)):
        if index < number:
            tar.skip(stream, entry.stored, check)
            continue
        if entry.is_directory or entry.is_link:
            raise EntryError("not_a_file")
        if entry.is_sparse:
            raise Unsupported("a sparse file")
        sink.begin(size=entry.size, packed=None, crc32=None)
        for piece in _pieces(cast("io.RawIOBase", stream), entry.stored):
            sink.write(piece)
        return
    raise EntryError("no_such_entry")


def _nth(entries: Iterator[ZipEntry], number: int) -> ZipEntry:
    for index, entry in enumerate(entries):
        if index == number:
            return entry
    raise EntryError("no_such_entry")
