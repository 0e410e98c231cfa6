"""Gzip, bzip2, xz and zstd: streams that unpack to a tar or to a single file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from pathlib import PurePosixPath

from headgate.domain.library.contents import ArchiveFormat, is_suspicious
from headgate.ingest.contents.collecting import Collector, Full
from headgate.ingest.contents.formats.tar import BLOCK, list_tar, looks_like_tar
from headgate.ingest.contents.joined import JoinedVolumes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_BUFFER = 2**18
_READ_AT_ONCE = 2**20
_ENDINGS = {".gz", ".bz2", ".xz", ".zst", ".zstd", ".001"}


class UnpackedStream(io.RawIOBase):
    """An unpacked stream that cannot go back, and ends when it unpacks to too much."""

    def __init__(self, kind: ArchiveFormat, volumes: JoinedVolumes, collector: Collector) -> None:
        super().__init__()
        volumes.seek(0)
        self._volumes = volumes
        self._stream = _open(kind, io.BufferedReader(volumes, _BUFFER))
        self._collector = collector
        self._count = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def packed_bytes(self) -> int:
        return self._volumes.tell()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        # One step at a time: what precedes a damaged place still comes out.
        piece = self._stream.read1(len(buffer))
        buffer[: len(piece)] = piece
        self._count += len(piece)
        self._check()
        return len(piece)

    def _check(self) -> None:
        limits = self._collector.limits
        if self._count > limits.max_unpacked_bytes:
            self._collector.report("too_big")
            raise Full
        if is_suspicious(
            unpacked_bytes=self._count,
            packed_bytes=self.packed_bytes(),
            max_ratio=limits.max_ratio,
            free_bytes=limits.ratio_free_bytes,
        ):
            self._collector.report("suspicious_ratio")
            raise Full
        self._collector.check_time()


def _open(kind: ArchiveFormat, packed: io.BufferedReader) -> io.BufferedIOBase:
    match kind:
        case "gz":
            return gzip.GzipFile(fileobj=packed)
        case "bz2":
            return bz2.BZ2File(packed)
        case "xz":
            return lzma.LZMAFile(packed)
        case _:
            return zstd.ZstdFile(packed)


def open_unpacked(kind: ArchiveFormat, volumes: JoinedVolumes, collector: Collector) -> io.BufferedReader:
    """Open a compressed stream, or a plain tar, for reading from its beginning."""
    if kind == "tar":
        volumes.seek(0)
        return io.BufferedReader(volumes, _BUFFER)
    return io.BufferedReader(UnpackedStream(kind, volumes, collector), _BUFFER)


def holds_tar(stream: io.BufferedReader) -> bool:
    return looks_like_tar(stream.peek(BLOCK)[:BLOCK])


def list_compressed(volumes: JoinedVolumes, collector: Collector, *, name: str) -> None:
    """Collect the entries of a tar, or the one file of a compressed stream."""
    kind = collector.format
    assert kind is not None  # noqa: S101 - it was recognised before
    stream = open_unpacked(kind, volumes, collector)
    if kind == "tar" or holds_tar(stream):
        collector.format = "tar"
        collector.is_solid = kind != "tar"
        list_tar(stream, collector, packed_bytes=volumes.tell)
        return
    size = 0
    try:
        while piece := stream.read(_READ_AT_ONCE):
            size += len(piece)
    except BaseException:
        collector.add(inner_name(name), size=None, packed=volumes.size)
        raise
    collector.add(inner_name(name), size=size, packed=volumes.size)


def inner_name(name: str) -> str:
    """Return what a compressed file is called inside: its name without the ending."""
    path = PurePosixPath(name.replace("\\", "/")).name
    while (ending := PurePosixPath(path).suffix.lower()) in _ENDINGS:
        path = path[: -len(ending)]
        if ending != ".001":
            break
    return path or "content"
