"""Finds the files of a tree. Only the names and sizes are read."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LeftOut = Literal["hidden", "links", "special", "unreadable", "own"]

_WHOLE = 2**63 - 1
"""Some file systems number files beyond what a column holds."""

FileId = tuple[int, int]
"""The device and the inode."""


@dataclass(frozen=True)
class FoundFile:
    """A regular file; the path is relative to the tree."""

    path: bytes
    size_bytes: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True)
class FoundTree:
    """The files of a tree, and the number of other entries by why they are left out."""

    files: tuple[FoundFile, ...]
    left_out: dict[LeftOut, int]


def walk_tree(root: Path, *, own_folders: Collection[Path]) -> FoundTree:
    """Walk a tree; raise `OSError` if its root cannot be read.

    Links are left out wherever they lead: inside the tree they would double files, outside they would leave
    it. `own_folders` hold what Headgate itself stores.
    """
    own = {file_id for folder in own_folders if (file_id := _id_of(folder)) is not None}
    left_out = Counter[LeftOut]()
    files: list[FoundFile] = []
    folders = [b""]
    base = os.fsencode(root)
    while folders:
        folder = folders.pop()
        for name, found in _list_folder(base, folder, left_out):
            path = folder + b"/" + name if folder else name
            if (reason := _why_left_out(name, found, own)) is not None:
                left_out[reason] += 1
            elif stat.S_ISDIR(found.st_mode):
                folders.append(path)
            else:
                files.append(to_file(path, found))
    return FoundTree(tuple(files), dict(left_out))


def to_file(path: bytes, found: os.stat_result) -> FoundFile:
    return FoundFile(path, found.st_size, found.st_mtime_ns, found.st_ino & _WHOLE)


def _list_folder(
    base: bytes, folder: bytes, left_out: Counter[LeftOut]
) -> Iterator[tuple[bytes, os.stat_result]]:
    try:
        with os.scandir(os.path.join(base, folder)) as entries:  # noqa: PTH118 - a name may be any bytes
            listed = list(entries)
    except OSError:
        if not folder:
            raise
        left_out["unreadable"] += 1
        return
    for entry in listed:
        try:
            yield entry.name, entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            # It vanished after it was listed.
            continue
        except OSError:
            left_out["unreadable"] += 1


def _why_left_out(name: bytes, found: os.stat_result, own: Collection[FileId]) -> LeftOut | None:
    if name.startswith(b"."):
        return "hidden"
    if stat.S_ISLNK(found.st_mode):
        return "links"
    if stat.S_ISDIR(found.st_mode):
        return "own" if (found.st_dev, found.st_ino) in own else None
    return None if stat.S_ISREG(found.st_mode) else "special"


def _id_of(folder: Path) -> FileId | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
