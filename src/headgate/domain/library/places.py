"""Files that stay where they are: the names by which their content is read in place.

All that is needed to check the file at each open is in the name, so no other record can disagree with it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote_from_bytes, unquote_to_bytes
from uuid import UUID

PREFIX = "place:"
IN_PLACE = "in-place"
"""The account of folders whose files are not copied."""

MAX_WHOLE = 2**63 - 1
"""Some file systems have times and numbers beyond what a column holds."""

_NAME = re.compile(
    r"place:(?P<size>[0-9]+):(?P<mtime>-?[0-9]+):(?P<root>/[!-9;-~]*):(?P<path>[!-9;-~]+)", re.ASCII
)


@dataclass(frozen=True)
class Place:
    """A file as it was when it was read.

    Its inode does not count: some file systems give out new ones, and so does a collection's new disk.
    """

    root: bytes
    """The folder that was imported; absolute, any bytes."""
    path: bytes
    """Relative to it."""
    size_bytes: int
    mtime_ns: int

    @property
    def name(self) -> str:
        """The name of the object that the file is."""
        root, path = quote_from_bytes(self.root), quote_from_bytes(self.path)
        return f"{PREFIX}{self.size_bytes}:{self.mtime_ns}:{root}:{path}"

    @property
    def full_path(self) -> bytes:
        return self.root.rstrip(b"/") + b"/" + self.path


def is_place(object_name: str) -> bool:
    return object_name.startswith(PREFIX)


def parse_place(object_name: str) -> Place:
    """Return the file that an object's name means; raise `ValueError` for what is none."""
    found = _NAME.fullmatch(object_name)
    path = unquote_to_bytes(found["path"]) if found else b""
    if found is None or {b"", b".", b".."} & set(path.split(b"/")):
        raise ValueError(f"{object_name!r} does not name a file in place")
    return Place(unquote_to_bytes(found["root"]), path, int(found["size"]), int(found["mtime"]))


def blob_id(object_name: str, content: bytes) -> UUID:
    """Return the id of a file's content, by its hash: reading the same file again finds the same blob."""
    return UUID(bytes=sha256(object_name.encode() + b"\n" + content).digest()[:16])


def size_and_time(found: os.stat_result) -> tuple[int, int]:
    """Return what tells whether a file is still the one that was read: its size, and when it was changed."""
    return found.st_size, min(max(found.st_mtime_ns, -MAX_WHOLE), MAX_WHOLE)
