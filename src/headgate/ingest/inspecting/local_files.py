"""Stored content as files on this machine, which is what readers of archives need."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headgate.domain.library.places import is_place
from headgate.ingest.inspecting.scratch import Scratch
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.storage.blobs.room import DiskRoom
from headgate.storage.blobs.spools import Spool, SpoolFolder
from headgate.storage.blobs.store import BlobStore, ObjectDamaged, ObjectMissing, StoreAway
from headgate.storage.database import Database

RENEW_S = 60.0
"""How often the room of copies is promised anew while they are made."""


class Stored(Protocol):
    """Content that has an object."""

    @property
    def object_name(self) -> str: ...

    @property
    def size_bytes(self) -> int: ...


@dataclass(frozen=True)
class LocalFiles:
    """Opens objects as files: those on a disk as they are, those of a bucket as copies for the moment.

    A copy is a spool, so it has room before its first byte, and a killed process leaves nothing for good.
    """

    store: BlobStore
    scratch: Scratch
    spools: SpoolFolder
    room: DiskRoom
    database: Database
    ids: Ids
    clock: Clock

    @asynccontextmanager
    async def open(self, stored: Sequence[Stored | None]) -> AsyncGenerator[list[Path | None], None]:
        """Give the paths of contents, for reading; raise `ObjectMissing` or `ObjectDamaged` for a bad one.

        Raises `NoRoom` where copies are needed that do not fit.
        """
        paths = [self.store.local_path(content.object_name) if content else None for content in stored]
        remote = {
            place: content
            for place, content in enumerate(stored)
            if content is not None and paths[place] is None
        }
        for place, content in enumerate(stored):
            if content is not None and place not in remote:
                await self._check(content)
        async with self._copied(remote) as copies:
            yield [copies.get(place, path) for place, path in enumerate(paths)]
        for content in stored:
            # The owner of a file in place may have changed it while it was read.
            if content is not None and is_place(content.object_name):
                await self._check(content)

    async def confirm_store(self) -> None:
        """Raise unless the store is there: without its disk, everything seems to be missing."""
        if await self.store.read_mark() is None:
            raise StoreAway(f"{self.store.place} is not there.")

    async def _check(self, content: Stored) -> None:
        size_bytes = await self.store.get_size(content.object_name)
        if size_bytes is None:
            raise ObjectMissing(f"The object {content.object_name} is missing.")
        if size_bytes != content.size_bytes:
            raise ObjectDamaged(f"The object {content.object_name} has {size_bytes} bytes.")

    @asynccontextmanager
    async def _copied(self, remote: Mapping[int, Stored]) -> AsyncGenerator[dict[int, Path], None]:
        """Give copies of contents, by the same keys; they are gone after the block, and so is their room."""
        if not remote:
            yield {}
            return
        key = f"look/{self.ids.new()}"
        spools: dict[int, Spool] = {}
        try:
            await self.room.reserve(key, sum(content.size_bytes for content in remote.values()))
            for place, content in remote.items():
                spools[place] = await self.spools.open(f"{key}/{place}", version=content.object_name)
                await self._copy(content, spools[place], key)
            yield {place: spool.path for place, spool in spools.items()}
        finally:
            await self.spools.discard_all(list(spools.values()))
            async with self.database.transaction() as tx:
                await self.room.release(tx, [key])

    async def _copy(self, content: Stored, spool: Spool, key: str) -> None:
        renewed_s = self.clock.monotonic()
        async for chunk in self.store.read(content.object_name, start=0, end=content.size_bytes):
            await spool.append(chunk)
            if self.clock.monotonic() - renewed_s >= RENEW_S:
                renewed_s = self.clock.monotonic()
                await self.room.renew([key])
        await spool.finish(size_bytes=content.size_bytes)
