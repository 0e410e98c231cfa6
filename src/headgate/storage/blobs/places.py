"""Content that is read where it lies: a thin store in front of the configured one, and the rows of it.

Such a file is checked at each open, and never written, listed or deleted here. Its blob is the file's own: it
stands for no other copy of the content.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from headgate.domain.library.places import Place, is_place, parse_place
from headgate.storage.blobs.store import CHUNK_BYTES, BlobStore, ObjectDamaged, ObjectMissing, Upload
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

_WHOLE = 2**63 - 1


@dataclass(frozen=True)
class PlacedContent:
    """A file whose content was read in place."""

    id: UUID
    """Of the blob, if there is none yet."""
    object_name: str
    sha256: bytes
    size_bytes: int


@dataclass(frozen=True)
class _Row:
    id: UUID
    object_name: str


async def upsert_placed(tx: Tx, contents: Sequence[PlacedContent], *, now: datetime) -> dict[str, UUID]:
    """Store the rows of files in place; returns the blobs by the names of their objects."""
    found = await tx.all(
        _Row,
        Q["upsert_placed"],
        ids=[content.id for content in contents],
        names=[content.object_name for content in contents],
        hashes=[content.sha256 for content in contents],
        sizes=[content.size_bytes for content in contents],
        now=now,
    )
    return {row.object_name: row.id for row in found}


class PlacedStore(BlobStore):
    """The configured store, and files in place by their names."""

    def __init__(self, inner: BlobStore) -> None:
        self.inner = inner

    @property
    def place(self) -> str:
        return self.inner.place

    async def put(self, uploads: Sequence[Upload]) -> dict[str, Exception]:
        return await self.inner.put(uploads)

    async def read(self, name: str, *, start: int, end: int) -> AsyncGenerator[bytes, None]:
        chunks = (
            _read_file(name, start, end) if is_place(name) else self.inner.read(name, start=start, end=end)
        )
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()

    def local_path(self, name: str) -> Path | None:
        if not is_place(name):
            return self.inner.local_path(name)
        place = parse_place(name)
        return Path(os.fsdecode(place.path)) if _is_unchanged(place) else None

    async def get_size(self, name: str) -> int | None:
        if not is_place(name):
            return await self.inner.get_size(name)
        place = parse_place(name)
        return place.size_bytes if await asyncio.to_thread(_is_unchanged, place) else None

    async def delete(self, names: Sequence[str]) -> None:
        await self.inner.delete([name for name in names if not is_place(name)])

    def list_names(self) -> AsyncGenerator[list[str], None]:
        return self.inner.list_names()

    async def read_mark(self) -> str | None:
        return await self.inner.read_mark()

    async def write_mark(self, mark: str) -> None:
        await self.inner.write_mark(mark)

    async def check(self) -> None:
        await self.inner.check()

    async def close(self) -> None:
        await self.inner.close()


async def _read_file(name: str, start: int, end: int) -> AsyncGenerator[bytes, None]:
    place = parse_place(name)
    descriptor = await asyncio.to_thread(_open, place)
    try:
        while start < end:
            chunk = await asyncio.to_thread(os.pread, descriptor, min(CHUNK_BYTES, end - start), start)
            if not chunk:
                raise ObjectDamaged(f"{_shown(place)} became shorter while it was read.")
            start += len(chunk)
            yield chunk
        if not _matches(place, os.fstat(descriptor)):
            raise ObjectDamaged(f"{_shown(place)} changed while it was read.")
    finally:
        os.close(descriptor)


def _open(place: Place) -> int:
    try:
        descriptor = os.open(place.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ObjectMissing(f"{_shown(place)} cannot be opened: {error.strerror}.") from error
    if _matches(place, os.fstat(descriptor)):
        return descriptor
    os.close(descriptor)
    raise ObjectDamaged(f"{_shown(place)} has changed since it was imported.")


def _is_unchanged(place: Place) -> bool:
    try:
        return _matches(place, os.lstat(place.path))
    except OSError:
        return False


def _matches(place: Place, found: os.stat_result) -> bool:
    told = (found.st_size, found.st_mtime_ns, found.st_ino & _WHOLE)
    return stat.S_ISREG(found.st_mode) and told == (place.size_bytes, place.mtime_ns, place.inode)


def _shown(place: Place) -> str:
    return place.path.decode(errors="replace")
