"""Files that stay where they are: the names by which their content is read in place.

All that is needed to check the file at each open is in the name, so no other record can disagree with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote_from_bytes, unquote_to_bytes

PREFIX = "place:"
IN_PLACE = "in-place"
"""The account of folders whose files are not copied."""

_NAME = re.compile(
    r"place:(?P<size>[0-9]+):(?P<mtime>-?[0-9]+):(?P<inode>[0-9]+):(?P<path>/[!-~]*)", re.ASCII
)


@dataclass(frozen=True)
class Place:
    """A file as it was when it was read."""

    path: bytes
    """Absolute; any bytes."""
    size_bytes: int
    mtime_ns: int
    inode: int

    @property
    def name(self) -> str:
        """The name of the object that the file is."""
        return f"{PREFIX}{self.size_bytes}:{self.mtime_ns}:{self.inode}:{quote_from_bytes(self.path)}"


def is_place(object_name: str) -> bool:
    return object_name.startswith(PREFIX)


def parse_place(object_name: str) -> Place:
    """Return the file that an object's name means; raise `ValueError` for what is none."""
    found = _NAME.fullmatch(object_name)
    if found is None:
        raise ValueError(f"{object_name!r} does not name a file in place")
    return Place(
        unquote_to_bytes(found["path"]), int(found["size"]), int(found["mtime"]), int(found["inode"])
    )
