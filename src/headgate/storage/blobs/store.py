"""What a store of objects can do, whatever it is made of, and how it fails.

An object has a name that is never used again. Nothing reads an object before its blob is committed, so a
store need not hide what is half written; it must only have all of it, durably, when `put` returns.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import UUID

from headgate.domain.errors import HeadgateError, Transient, UserError

CHUNK_BYTES = 2**20
"""How much is read at once; a reader holds a few of them at most."""

_NAME = re.compile(r"(?P<folder>[0-9a-f]{2})/(?P=folder)[0-9a-f]{62}-[0-9a-f]{32}")


class StoreTrouble(UserError):
    """The store cannot be used until a person has seen to it."""


class StoreAway(Transient):
    """The store does not answer, or refused this once."""


class NotDurable(StoreAway):
    """A sync failed. The system may have dropped what it could not write, so the file is not used again."""


class DiskFull(Transient):
    """There is no room left for what was to be written."""


class ObjectMissing(HeadgateError):
    """The object is not in the store."""


class ObjectDamaged(HeadgateError):
    """The object is there, but it is not what was stored."""


@dataclass(frozen=True)
class Upload:
    """A finished file that is to become an object."""

    object_name: str
    path: Path
    size_bytes: int


class BlobStore(Protocol):
    """A folder, or a bucket."""

    @property
    def place(self) -> str:
        """Where it is, as people may see it."""
        ...

    async def put(self, uploads: Sequence[Upload]) -> dict[str, Exception]:
        """Make objects; all but those returned, with what went wrong, are whole and durable."""
        ...

    def read(self, name: str, *, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Yield exactly these bytes, or raise `ObjectMissing` or `ObjectDamaged`."""
        ...

    def local_path(self, name: str) -> Path | None:
        """Return where an object is on this machine, for reading; nothing if it is elsewhere."""
        ...

    async def get_size(self, name: str) -> int | None:
        """Return the size of an object; nothing if there is none."""
        ...

    async def delete(self, names: Sequence[str]) -> None:
        """Delete objects; one that is not there is no error."""
        ...

    def list_names(self) -> AsyncGenerator[list[str], None]:
        """Yield the names of all objects in batches, and of nothing that somebody else put there."""
        ...

    async def read_mark(self) -> str | None:
        """Return what the store says of itself, if it was marked."""
        ...

    async def write_mark(self, mark: str) -> None: ...

    async def check(self) -> None:
        """Write, read and delete something; raise `StoreTrouble` that says what is wrong."""
        ...

    async def close(self) -> None: ...


def name_object(sha256: bytes, *, upload_id: UUID) -> str:
    """Return the name of the object that an upload makes.

    One level of folders: on a disk, a second one costs more than the files in it until it is all there, and
    256 folders hold millions of files well.
    """
    return f"{sha256.hex()[:2]}/{sha256.hex()}-{upload_id.hex}"


def is_object_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None
