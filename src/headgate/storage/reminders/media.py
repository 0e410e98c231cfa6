"""Pictures and files to be sent; equal ones are one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Media:
    """The details of a picture or file."""

    id: UUID
    name: str
    mime_type: str
    size_bytes: int
    created_at: datetime


async def upsert_media(
    tx: Tx, media_id: UUID, *, name: str, mime_type: str, content: bytes, now: datetime
) -> Media:
    """Store a file, and return it, or the equal one that was there before."""
    (stored,) = await tx.all(
        Media,
        Q["upsert_media"],
        id=media_id,
        name=name,
        mime_type=mime_type,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).digest(),
        content=content,
        now=now,
    )
    return stored


async def list_media(tx: Tx, media_ids: Sequence[UUID]) -> list[Media]:
    """Return those of them that are there."""
    return await tx.all(Media, Q["list_media"], ids=list(media_ids))


async def get_media(tx: Tx, media_id: UUID) -> Media | None:
    found = await list_media(tx, [media_id])
    return found[0] if found else None


async def delete_unused(tx: Tx, *, before: datetime) -> int:
    """Delete what is older and no reminder or run sends; returns how many."""
    return await tx.execute(Q["delete_unused"], before=before)
