"""Finds the files of a tree. Only the names and sizes are read, one folder after the other."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headgate.domain.library.places import MAX_WHOLE, size_and_time
from headgate.kernel.beneath import open_beneath

LeftOut = Literal["hidden", "links", "special", "unreadable", "own"]

FileId = tuple[int, int]
"""The device and the inode."""


@dataclass(frozen=True)
class FoundFile:
    """A regular file; the path is relative to the tree."""

    path: bytes
    size_bytes: int
    mtime_ns: int
    inode: int


def walk_tree(
    root: Path, *, own_folders: Collection[Path], left_out: Counter[LeftOut] | None = None
) -> Iterator[FoundFile]:
    """Yield the files of a tree, and count other entries by why they are left out.

    Raises `OSError` if the root cannot be read. Links are left out wherever they lead: inside the tree they
    would double files, outside they would leave it. `own_folders` hold what Headgate itself stores.
    """
    own = {file_id for folder in own_folders if (file_id := _id_of(folder)) is not None}
    counted = Counter[LeftOut]() if left_out is None else left_out
    folders = [b""]
    base = os.fsencode(root)
    while folders:
        folder = folders.pop()
        for name, found in _list_folder(base, folder, counted):
            path = folder + b"/" + name if folder else name
            if (reason := _why_left_out(name, found, own)) is not None:
                counted[reason] += 1
            elif stat.S_ISDIR(found.st_mode):
                folders.append(path)
            else:
                yield to_file(path, found)


def to_file(path: bytes, found: os.stat_result) -> FoundFile:
    return FoundFile(path, *size_and_time(found), found.st_ino & MAX_WHOLE)


def _list_folder(
    base: bytes, folder: bytes, left_out: Counter[LeftOut]
) -> Iterator[tuple[bytes, os.stat_result]]:
    try:
        descriptor = open_beneath(base, folder)
    except OSError:
        if not folder:
            raise
        left_out["unreadable"] += 1
        return
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if (found := _stat(entry, left_out)) is not None:
                    # A folder that is listed by its descriptor tells names as text.
                    yield os.fsencode(entry.name), found
    except OSError:
        left_out["unreadable"] += 1
    finally:
        os.close(descriptor)


def _stat(entry: os.DirEntry[str], left_out: Counter[LeftOut]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        # It vanished after it was listed.
        return None
    except OSError:
        left_out["unreadable"] += 1
        return None


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
