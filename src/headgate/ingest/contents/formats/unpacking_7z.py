"""Unpacks one entry of a 7z with py7zr, which knows the many ways to pack it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, cast

import py7zr
from py7zr.exceptions import PasswordRequired, UnsupportedCompressionMethodError
from py7zr.io import Py7zIO, WriterFactory

from headgate.ingest.contents.collecting import Unsupported
from headgate.ingest.contents.formats.unpacking import EntryError
from headgate.ingest.contents.joined import JoinedVolumes

if TYPE_CHECKING:
    from headgate.ingest.contents.formats.unpacking import Sink

_BUFFER = 2**18


class _SinkWriter(Py7zIO):
    """Hands on what py7zr writes."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._size = 0

    def write(self, s: bytes | bytearray) -> int:
        self._sink.write(bytes(s))
        self._size += len(s)
        return len(s)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._size

    def flush(self) -> None: ...

    def size(self) -> int:
        return self._size


class _SinkFactory(WriterFactory):
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def create(self, filename: str) -> Py7zIO:
        return _SinkWriter(self._sink)


def unpack_7z(volumes: JoinedVolumes, number: int, sink: Sink) -> None:
    """Unpack an entry; in a solid archive, those before it are unpacked too and dropped."""
    volumes.seek(0)
    try:
        with py7zr.SevenZipFile(io.BufferedReader(volumes, _BUFFER)) as archive:
            _unpack(cast("Any", archive), number, sink)
    except PasswordRequired as error:
        raise EntryError("encrypted") from error
    except UnsupportedCompressionMethodError as error:
        raise Unsupported(str(error)) from error


def _unpack(archive: Any, number: int, sink: Sink) -> None:
    if archive.password_protected:
        raise EntryError("encrypted")
    files: list[dict[str, Any]] = archive.files.files_list
    if number >= len(files):
        raise EntryError("no_such_entry")
    entry = archive.files[number]
    if entry.is_directory or entry.is_symlink or entry.is_junction:
        raise EntryError("not_a_file")
    sink.begin(size=entry.uncompressed, packed=None, crc32=entry.crc32)
    # py7zr picks entries by name, and refuses names that lead outside: give each its number for a name.
    for index, properties in enumerate(files):
        properties["filename"] = str(index)
    archive.extract(targets=[str(number)], factory=_SinkFactory(sink))
