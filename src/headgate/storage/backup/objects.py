"""Copying objects from one store to another, each verified by its hash on the way."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headgate.storage.backup.folder import StoredObject
from headgate.storage.blobs.store import BlobStore, ObjectDamaged, ObjectMissing, Upload

AT_ONCE = 8
GROUP_OBJECTS = 64
GROUP_BYTES = 64 * 2**20

OnBytes = Callable[[int], None]
"""Told how many more bytes are done."""


@dataclass
class Copier:
    """Copies objects; what the source does not have whole is remembered."""

    source: BlobStore
    target: BlobStore
    scratch: Path
    """A folder, on the disk of the target if that is one."""
    on_bytes: OnBytes
    damaged: list[str] = field(default_factory=list[str])

    async def copy(self, objects: Iterable[StoredObject]) -> None:
        """Copy objects, in groups that share their syncs."""
        for group in _groups(objects):
            limit = asyncio.Semaphore(AT_ONCE)
            uploads = await asyncio.gather(*(self._fetch(each, limit) for each in group))
            await self._put([upload for upload in uploads if upload is not None])

    async def list_broken(self, objects: Iterable[StoredObject]) -> list[StoredObject]:
        """Return those of some objects that the target does not have whole, by reading them."""
        return [each for each in objects if not await self._is_whole(each)]

    async def _is_whole(self, wanted: StoredObject) -> bool:
        sha256, done = hashlib.sha256(), 0
        try:
            async for chunk in self.target.read(wanted.name, start=0, end=wanted.size_bytes):
                sha256.update(chunk)
                done += len(chunk)
                self.on_bytes(len(chunk))
            size_bytes = await self.target.get_size(wanted.name)
        except (ObjectMissing, ObjectDamaged):
            size_bytes = None
        if size_bytes == wanted.size_bytes and sha256.digest() == wanted.sha256:
            return True
        self.on_bytes(-done)
        return False

    async def _fetch(self, wanted: StoredObject, limit: asyncio.Semaphore) -> Upload | None:
        path = self.scratch / wanted.name.replace("/", "-")
        async with limit:
            if await self._read(wanted, path):
                return Upload(wanted.name, path, wanted.size_bytes)
        path.unlink(missing_ok=True)
        self.damaged.append(wanted.name)
        return None

    async def _read(self, wanted: StoredObject, path: Path) -> bool:
        sha256 = hashlib.sha256()
        try:
            if await self.source.get_size(wanted.name) != wanted.size_bytes:
                return False
            with path.open("wb", buffering=0) as file:
                async for chunk in self.source.read(wanted.name, start=0, end=wanted.size_bytes):
                    sha256.update(chunk)
                    file.write(chunk)
                    self.on_bytes(len(chunk))
        except (ObjectMissing, ObjectDamaged):
            return False
        return sha256.digest() == wanted.sha256

    async def _put(self, uploads: Sequence[Upload]) -> None:
        # What is there under this name was found to be damaged.
        await self.target.delete([upload.object_name for upload in uploads])
        failed = await self.target.put(uploads)
        for upload in uploads:
            upload.path.unlink(missing_ok=True)
        for error in failed.values():
            raise error


def _groups(objects: Iterable[StoredObject]) -> Iterator[list[StoredObject]]:
    group: list[StoredObject] = []
    for each in objects:
        group.append(each)
        if len(group) >= GROUP_OBJECTS or sum(one.size_bytes for one in group) >= GROUP_BYTES:
            yield group
            group = []
    if group:
        yield group
