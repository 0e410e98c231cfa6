"""Reading stored content, and reading all of it again to verify it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.storage.blobs.blobs import Blob, get_blobs, list_blobs_after
from headgate.storage.blobs.store import BlobStore, ObjectDamaged, ObjectMissing
from headgate.storage.blobs.threads import Threads
from headgate.storage.database import Database, Tx, connect
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

START = UUID(int=0)
BATCH_BLOBS = 100
BATCH_BYTES = 2**30
"""After so much the place is noted; a kill costs this much reading."""

Fault = Literal["missing", "size", "content"]


@dataclass(frozen=True)
class Damage:
    """A blob whose object is not what was stored."""

    blob: Blob
    fault: Fault


@dataclass(frozen=True)
class AuditedBlobs:
    """A batch of an audit; the next one begins after `last`, and there is none if that is empty."""

    last: UUID | None
    checked: int
    size_bytes: int
    damages: list[Damage]


@dataclass(frozen=True)
class Audit:
    """The latest audit: how far it is, and what it found."""

    started_at: datetime
    noted_at: datetime
    ended_at: datetime | None
    reached: UUID
    total: int
    total_bytes: int
    checked: int
    checked_bytes: int
    damaged: int
    refetched: int
    lost: int


@dataclass(frozen=True)
class DamagedContent:
    """What is damaged now; `files` still have such content, because nothing can replace it."""

    blobs: int
    size_bytes: int
    files: int


OnRead = Callable[[int], Awaitable[None]]
"""Told how many bytes were read; it may take its time."""


async def _read_on(_count: int) -> None: ...


async def begin_audit(tx: Tx, *, now: datetime, restart: bool) -> None:
    """Begin an audit, unless one is to be gone on with."""
    await tx.execute(Q["begin_audit"], now=now, start=START, restart=restart)


async def note_audit(tx: Tx, verified: AuditedBlobs, *, refetched: int, lost: int, now: datetime) -> None:
    """Note how far an audit is."""
    await tx.execute(
        Q["note_audit"],
        now=now,
        reached=verified.last,
        checked=verified.checked,
        checked_bytes=verified.size_bytes,
        damaged=len(verified.damages),
        refetched=refetched,
        lost=lost,
    )


async def end_audit(tx: Tx, *, now: datetime) -> None:
    await tx.execute(Q["end_audit"], now=now)


async def get_audit(tx: Tx) -> Audit | None:
    """Return the latest audit, if there was one."""
    return await tx.one(Audit, Q["get_audit"])


async def count_damaged(tx: Tx) -> DamagedContent:
    return await tx.one(DamagedContent, Q["count_damaged"]) or DamagedContent(0, 0, 0)


@asynccontextmanager
async def only_audit(url: str) -> AsyncGenerator[None, None]:
    """Let no other process audit within the block."""
    connection = await connect(url, name="headgate audit")
    async with connection:
        if not await Tx(connection).value(Q["try_audit"]):
            raise UserError(
                "An audit is running already.", remedy="See how far it is.", command="headgate audit --status"
            )
        yield


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

    async def verify(
        self, *, after: UUID = START, limit: int = BATCH_BLOBS, on_read: OnRead = _read_on
    ) -> AuditedBlobs:
        """Verify the next blobs in the order of their ids."""
        async with self._database.autocommit() as tx:
            blobs = await list_blobs_after(tx, after, limit=limit)
        damages: list[Damage] = []
        checked = size_bytes = 0
        for blob in blobs:
            if fault := await self._find_fault(blob, on_read):
                damages.append(Damage(blob, fault))
            checked += 1
            size_bytes += blob.size_bytes
            if size_bytes >= BATCH_BYTES:
                break
        return AuditedBlobs(
            last=blobs[checked - 1].id if blobs else None,
            checked=checked,
            size_bytes=size_bytes,
            damages=await self._still_there(damages),
        )

    async def close(self) -> None:
        self._threads.close()

    async def _find_fault(self, blob: Blob, on_read: OnRead) -> Fault | None:
        size_bytes = await self._store.get_size(blob.object_name)
        if size_bytes is None:
            return "missing"
        if size_bytes != blob.size_bytes:
            return "size"
        sha256 = hashlib.sha256()
        try:
            async for chunk in read_blob(self._store, blob):
                await self._threads.run(sha256.update, chunk)
                await on_read(len(chunk))
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
