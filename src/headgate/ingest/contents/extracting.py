"""Extracts one file in the subprocess, to a path or in chunks, within limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from errno import EFBIG, ENOSPC
from pathlib import Path
from typing import cast
from zlib import crc32

from headgate.domain.library.contents import (
    ContentLimits,
    Extraction,
    ExtractionLimits,
    Problem,
    is_suspicious,
)
from headgate.ingest.contents.collecting import Collector, DamagedArchive, Full, Truncation, Unsupported
from headgate.ingest.contents.formats.unpacking import EntryError, unpack_stream, unpack_zip
from headgate.ingest.contents.formats.unpacking_7z import unpack_7z
from headgate.ingest.contents.formats.unpacking_rar import unpack_rar
from headgate.ingest.contents.joined import JoinedVolumes, MissingVolume
from headgate.ingest.contents.recognising import recognise


class LimitedSink:
    """Counts and checks what is unpacked, and hands it on."""

    def __init__(self, limits: ExtractionLimits, write: Callable[[bytes], object], *, packed: int) -> None:
        self._limits = limits
        self._write = write
        self._packed = packed
        self._expected_size: int | None = None
        self._expected_crc: int | None = None
        self._crc = 0
        self.size = 0

    def begin(self, *, size: int | None, packed: int | None, crc32: int | None) -> None:
        """Refuse at once what announces too much."""
        self._expected_size, self._expected_crc = size, crc32
        if packed is not None:
            self._packed = min(packed, self._packed)
        self._check(size or 0)

    def write(self, piece: bytes) -> None:
        self.size += len(piece)
        self._check(self.size)
        if self._expected_size is not None and self.size > self._expected_size:
            raise DamagedArchive(f"more than the {self._expected_size} bytes announced")
        self._crc = crc32(piece, self._crc)
        self._write(piece)

    def finish(self) -> None:
        """Compare with what the archive has announced."""
        if self._expected_size is not None and self.size != self._expected_size:
            raise DamagedArchive(f"{self._expected_size} bytes announced, {self.size} found")
        if self._expected_crc is not None and self._crc != self._expected_crc:
            raise DamagedArchive("the CRC is wrong")

    def _check(self, size: int) -> None:
        if size > self._limits.max_bytes:
            raise EntryError("too_big", f"more than {self._limits.max_bytes} bytes")
        if is_suspicious(
            unpacked_bytes=size,
            packed_bytes=self._packed,
            max_ratio=self._limits.max_ratio,
            free_bytes=self._limits.ratio_free_bytes,
        ):
            raise EntryError("suspicious_ratio")


def extract_volumes(
    paths: Sequence[Path | None],
    *,
    number: int,
    write: Callable[[bytes], object],
    limits: ExtractionLimits,
    unpacker: Path | None,
) -> Extraction:
    """Extract the entry with a number; what is wrong becomes the problem of the extraction."""
    collector = Collector(ContentLimits(max_read_s=float("inf")))
    with JoinedVolumes(paths) as volumes:
        sink = LimitedSink(limits, write, packed=volumes.size)
        try:
            _unpack(volumes, number, sink, collector, paths=paths, unpacker=unpacker)
            sink.finish()
        except Full:
            return Extraction(sink.size, next(iter(collector.problems)))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - readers of hostile bytes raise anything
            return Extraction(sink.size, _problem_of(error), f"{type(error).__name__}: {error}"[:500])
    return Extraction(sink.size)


def _unpack(
    volumes: JoinedVolumes,
    number: int,
    sink: LimitedSink,
    collector: Collector,
    *,
    paths: Sequence[Path | None],
    unpacker: Path | None,
) -> None:
    collector.format = recognise(volumes)
    match collector.format:
        case None:
            raise EntryError("not_an_archive")
        case "zip":
            unpack_zip(volumes, number, sink)
        case "7z":
            unpack_7z(volumes, number, sink)
        case "rar4" | "rar5":
            there = [path for path in paths if path is not None]
            unpack_rar(volumes, number, sink, collector, paths=there, unpacker=unpacker)
        case _:
            unpack_stream(volumes, number, sink, collector)


def _problem_of(error: Exception) -> Problem:
    match error:
        case EntryError():
            return cast("Problem", error.problem)
        case MissingVolume():
            return "missing_volumes"
        case Unsupported():
            return "unsupported"
        case Truncation() | EOFError():
            return "truncated"
        case OSError(errno=errno) if errno == ENOSPC:
            return "disk_full"
        case OSError(errno=errno) if errno == EFBIG:
            return "too_big"
        case _:
            return "damaged"
