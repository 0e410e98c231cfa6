"""Reading stored content, and reading it again to verify it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from headgate.storage.blobs.blobs import Blob, get_blobs, list_blobs_after
from headgate.storage.blobs.store import BlobStore, ObjectDamaged, ObjectMissing
from headgate.storage.blobs.threads import Threads
from headgate.storage.database import Database

START = UUID(int=0)

Fault = Literal["missing", "size", "content"]


@dataclass(frozen=True)
class Damage:
    """A blob whose object is not what was stored."""

    blob: Blob
    fault: Fault


@dataclass(frozen=True)
class Verified:
    """A batch of an audit; the next one begins after `last`, and there is none if that is empty."""

    last: UUID | None
    checked: int
    size_bytes: int
    damages: list[Damage]


def read_blob(
    store: BlobStore, blob: Blob, *, start: int = 0, end: int | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield the content of a blob, or a range of it, in chunks; a few of them are in memory at most."""
    return store.read(
        blob.object_name,
        start=max(0, start),
        end=min(blob.size_bytes, blob.size_bytes if end is None else end),
    )


class Auditor:
    """Reads stored content again and compares size and SHA-256."""

    def __init__(self, database: Database, store: BlobStore) -> None:
        self._database = database
        self._store = store
        self._threads = Threads("audit", size=1)

    async def verify(self, *, after: UUID = START, limit: int = 100) -> Verified:
        """Verify the next blobs in the order of their ids."""
        async with self._database.autocommit() as tx:
            blobs = await list_blobs_after(tx, after, limit=limit)
        damages = [Damage(blob, fault) for blob in blobs if (fault := await self._find_fault(blob))]
        return Verified(
            last=blobs[-1].id if blobs else None,
            checked=len(blobs),
            size_bytes=sum(blob.size_bytes for blob in blobs),
            damages=await self._still_there(damages),
        )

    async def close(self) -> None:
        self._threads.close()

    async def _find_fault(self, blob: Blob) -> Fault | None:
        size_bytes = await self._store.get_size(blob.object_name)
        if size_bytes is None:
            return "missing"
        if size_bytes != blob.size_bytes:
            return "size"
        sha256 = hashlib.sha256()
        try:
            async for chunk in read_blob(self._store, blob):
                await self._threads.run(sha256.update, chunk)
        except ObjectMissing:
            return "missing"
        except ObjectDamaged:
            return "size"
        return None if sha256.digest() == blob.sha256 else "content"

    async def _still_there(self, damages: list[Damage]) -> list[Damage]:
        """Leave out what was collected or replaced while it was read."""
        if not damages:
            return []
        async with self._database.autocommit() as tx:
            present = await get_blobs(tx, [damage.blob.id for damage in damages])
        return [damage for damage in damages if present.get(damage.blob.id) == damage.blob]
