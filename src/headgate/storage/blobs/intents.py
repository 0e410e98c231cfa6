"""Uploads from their intent to their end: the rows that make a crash between any two steps harmless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.storage.blobs.blobs import Blob
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

INTENT_TTL_S = 900.0
"""For how long an upload is believed without a sign of life."""
KEEP_DOOMED = timedelta(hours=24)
"""For how long the object of a blob that is gone stays, for readers and backups that began before."""


@dataclass(frozen=True)
class Intent:
    """An object that is about to be made."""

    id: UUID
    sha256: bytes
    size_bytes: int
    object_name: str


@dataclass(frozen=True)
class Settled:
    """How an upload ended: as the blob, or as a duplicate of it."""

    upload_id: UUID
    id: UUID
    sha256: bytes
    size_bytes: int
    object_name: str
    duplicate: str | None
    """The name of an object that is not needed, because another's is there."""

    @property
    def blob(self) -> Blob:
        return Blob(self.id, self.sha256, self.size_bytes, self.object_name)


async def begin_uploads(tx: Tx, intents: Sequence[Intent]) -> list[Blob]:
    """Note what is about to be uploaded, except for content that is there: those blobs are returned."""
    return await tx.all(
        Blob,
        Q["begin_uploads"],
        ids=[intent.id for intent in intents],
        hashes=[intent.sha256 for intent in intents],
        sizes=[intent.size_bytes for intent in intents],
        names=[intent.object_name for intent in intents],
        ttl_s=INTENT_TTL_S,
    )


async def renew_uploads(tx: Tx, upload_ids: Sequence[UUID]) -> None:
    """Give a sign of life of uploads that take long."""
    await tx.execute(Q["renew_uploads"], ids=list(upload_ids), ttl_s=INTENT_TTL_S)


async def settle_uploads(tx: Tx, upload_ids: Sequence[UUID], *, now: datetime) -> list[Settled]:
    """Turn uploads into blobs; those that were given up meanwhile are not returned."""
    delete_at = now + KEEP_DOOMED
    return await tx.all(Settled, Q["settle_uploads"], ids=list(upload_ids), now=now, delete_at=delete_at)


async def give_up_expired(tx: Tx, *, now: datetime, limit: int) -> int:
    """Doom the objects of uploads without a sign of life; return how many."""
    return await tx.execute(Q["give_up_expired"], now=now, delete_at=now + KEEP_DOOMED, limit=limit)
