"""OBJ files: their corners and faces; materials, curves and groups are passed over."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from headgate.ingest.pictures.meshes.mesh import MAX_TRIANGLES, Triangles, check_count
from headgate.ingest.pictures.problems import PictureProblem

_MAX_BYTES = 400_000_000
_MAX_LINE = 1 << 16


def read_obj(path: Path) -> Triangles:
    """Return the triangles of a file; faces of more than three corners become fans."""
    if path.stat().st_size > _MAX_BYTES:
        raise PictureProblem("too_large", f"{path.stat().st_size} bytes of text")
    corners: list[float] = []
    ids: list[int] = []
    with path.open("rb") as file:
        while line := file.readline(_MAX_LINE):
            _read_line(line, corners, ids)
            if len(ids) > 3 * MAX_TRIANGLES:
                check_count(len(ids) // 3)
    check_count(len(ids) // 3)
    places = np.array(corners, dtype=np.float32).reshape(-1, 3)
    chosen = np.array(ids, dtype=np.int64)
    if chosen.min() < 0 or chosen.max() >= len(places):
        raise PictureProblem("damaged", "a face of corners that are not there")
    return places[chosen].reshape(-1, 3, 3)


def _read_line(line: bytes, corners: list[float], ids: list[int]) -> None:
    words = line.split()
    try:
        if words[:1] == [b"v"]:
            x, y, z = words[1:4]
            corners += (float(x), float(y), float(z))
        elif words[:1] == [b"f"]:
            _add_face(words[1:], len(corners) // 3, ids)
    except ValueError:
        raise PictureProblem("damaged", "a line that is not three numbers") from None


def _add_face(words: list[bytes], known: int, ids: list[int]) -> None:
    """Add the triangles of a face; numbers count from 1, negative ones from the latest corner."""
    numbers = [int(word.partition(b"/")[0]) for word in words]
    places = [number - 1 if number > 0 else known + number for number in numbers]
    for second, third in pairwise(places[1:]):
        ids += (places[0], second, third)
