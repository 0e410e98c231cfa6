"""Stored content as files on this machine, which is what readers of archives need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headgate.domain.library.places import is_place
from headgate.ingest.inspecting.scratch import Scratch
from headgate.storage.blobs.store import BlobStore, ObjectDamaged, ObjectMissing, StoreAway


class Stored(Protocol):
    """Content that has an object."""

    @property
    def object_name(self) -> str: ...

    @property
    def size_bytes(self) -> int: ...


@dataclass(frozen=True)
class LocalFiles:
    """Opens objects as files: those on a disk as they are, those of a bucket as copies for the moment."""

    store: BlobStore
    scratch: Scratch

    @asynccontextmanager
    async def open(self, stored: Sequence[Stored | None]) -> AsyncGenerator[list[Path | None], None]:
        """Give the paths of contents, for reading; raise `ObjectMissing` or `ObjectDamaged` for a bad one."""
        async with AsyncExitStack() as stack:
            copies: Path | None = None
            paths: list[Path | None] = []
            for place, content in enumerate(stored):
                if content is None:
                    paths.append(None)
                    continue
                path = self.store.local_path(content.object_name)
                if path is None:
                    copies = copies or await stack.enter_async_context(self.scratch.folder())
                    path = await self._copy(content, copies / str(place))
                else:
                    await self._check(content)
                paths.append(path)
            yield paths
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

    async def _copy(self, content: Stored, path: Path) -> Path:
        with path.open("wb") as file:
            async for chunk in self.store.read(content.object_name, start=0, end=content.size_bytes):
                await asyncio.to_thread(file.write, chunk)
        return path
