"""STL files, binary and as text, told apart by their size and not by their first word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from headgate.ingest.pictures.meshes.mesh import MAX_TRIANGLES, Triangles, check_count
from headgate.ingest.pictures.problems import PictureProblem

_HEADER_BYTES = 84
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_CHUNK = 1 << 15
_BLOCK_BYTES = 1 << 21
_MAX_TEXT_BYTES = 300 * MAX_TRIANGLES
_VERTEX = re.compile(rb"vertex[ \t]+([^\r\n]+)")


def read_stl(path: Path) -> Triangles:
    """Return the triangles of a file, or say what is wrong with it."""
    size_bytes = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        count = int.from_bytes(head[80:84], "little")
        if len(head) == _HEADER_BYTES and size_bytes == _HEADER_BYTES + count * _RECORD.itemsize:
            return _read_binary(file, count)
        if head.lstrip().lower().startswith(b"solid"):
            return _read_text(file, head, size_bytes)
        if len(head) < _HEADER_BYTES:
            raise PictureProblem("damaged", "shorter than the header of an STL file")
        if count == 0 or size_bytes < _HEADER_BYTES + count * _RECORD.itemsize:
            raise PictureProblem("damaged", f"{count} triangles announced in {size_bytes} bytes")
        return _read_binary(file, count)


def _read_binary(file: BinaryIO, count: int) -> Triangles:
    check_count(count)
    triangles = np.empty((count, 3, 3), dtype=np.float32)
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        block = file.read((stop - start) * _RECORD.itemsize)
        if len(block) < (stop - start) * _RECORD.itemsize:
            raise PictureProblem("damaged", "the file ended while it was read")
        triangles[start:stop] = np.frombuffer(block, dtype=_RECORD)["corners"]
    return triangles


def _read_text(file: BinaryIO, head: bytes, size_bytes: int) -> Triangles:
    if size_bytes > _MAX_TEXT_BYTES:
        raise PictureProblem("too_large", f"{size_bytes} bytes of text")
    pieces: list[Triangles] = []
    corners = 0
    for block in _blocks(file, head):
        piece = _corners_of(block)
        corners += len(piece)
        if corners > 3 * MAX_TRIANGLES:
            check_count(corners // 3)
        pieces.append(piece)
    if corners % 3:
        raise PictureProblem("damaged", "the last triangle is not complete")
    check_count(corners // 3)
    return np.concatenate(pieces).reshape(-1, 3, 3)


def _blocks(file: BinaryIO, head: bytes) -> Iterator[bytes]:
    """Yield the text in blocks that end with a line."""
    rest = head
    while block := file.read(_BLOCK_BYTES):
        rest += block
        end = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
        if end == 0 and len(rest) > _BLOCK_BYTES:
            raise PictureProblem("damaged", "a line without an end")
        yield rest[:end]
        rest = rest[end:]
    yield rest


def _corners_of(block: bytes) -> Triangles:
    # Few programs write capitals; searching for both takes half as long again.
    lines = _VERTEX.findall(block) or _VERTEX.findall(block.lower())
    numbers = b" ".join(lines).split()
    if len(numbers) != 3 * len(lines):
        raise PictureProblem("damaged", "a corner without three coordinates")
    try:
        return np.array(numbers, dtype=np.float32).reshape(-1, 3)
    except ValueError:
        raise PictureProblem("damaged", "a coordinate that is not a number") from None
