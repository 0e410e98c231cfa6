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

from headgate.domain.library.places import Place, is_place, parse_place, size_and_time
from headgate.kernel.beneath import open_beneath
from headgate.storage.blobs.store import CHUNK_BYTES, BlobStore, ObjectDamaged, ObjectMissing, Upload
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

_MAX_PATH_BYTES = 4000
"""Longer paths are read step by step."""


@dataclass(frozen=True)
class PlacedContent:
    """A file whose content was read in place."""

    id: UUID
    """Made of the object's name and the hash."""
    object_name: str
    sha256: bytes
    size_bytes: int


async def upsert_placed(tx: Tx, contents: Sequence[PlacedContent], *, now: datetime) -> None:
    """Store the blobs of files in place."""
    await tx.execute(
        Q["upsert_placed"],
        ids=[content.id for content in contents],
        names=[content.object_name for content in contents],
        hashes=[content.sha256 for content in contents],
        sizes=[content.size_bytes for content in contents],
        now=now,
    )


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
        try:
            path = place.full_path.decode()
        except UnicodeDecodeError:
            return None
        short = len(place.full_path) <= _MAX_PATH_BYTES
        return Path(path) if short and _is_unchanged(place) else None

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
        descriptor = open_beneath(place.root, place.path)
    except OSError as error:
        raise ObjectMissing(f"{_shown(place)} cannot be opened: {error.strerror}.") from error
    if _matches(place, os.fstat(descriptor)):
        return descriptor
    os.close(descriptor)
    raise ObjectDamaged(f"{_shown(place)} has changed since it was imported.")


def _is_unchanged(place: Place) -> bool:
    try:
        os.close(_open(place))
    except (ObjectMissing, ObjectDamaged):
        return False
    return True


def _matches(place: Place, found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and size_and_time(found) == (place.size_bytes, place.mtime_ns)


def _shown(place: Place) -> str:
    return place.full_path.decode(errors="replace")
