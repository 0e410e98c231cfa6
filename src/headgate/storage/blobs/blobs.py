"""Rows of stored content, and what platforms call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Blob:
    """Content that can be read."""

    id: UUID
    sha256: bytes
    size_bytes: int
    object_name: str


@dataclass(frozen=True)
class ContentId:
    """What a platform calls some content; `scope` says within what the id is unique."""

    platform: str
    scope: str
    content_id: str
    size_bytes: int


@dataclass(frozen=True)
class _Alias(ContentId):
    id: UUID
    sha256: bytes
    object_name: str


async def get_blobs(tx: Tx, blob_ids: Iterable[UUID]) -> dict[UUID, Blob]:
    """Return blobs by id, without those that are gone."""
    found = await tx.all(Blob, Q["get_blobs"], ids=list(blob_ids))
    return {blob.id: blob for blob in found}


async def list_blobs_after(tx: Tx, after: UUID, *, limit: int) -> list[Blob]:
    """Return the next blobs in the order of their ids."""
    return await tx.all(Blob, Q["list_blobs_after"], after=after, limit=limit)


async def list_blobs_named(tx: Tx, names: Sequence[str]) -> list[UUID]:
    """Return the blobs of objects."""
    return await tx.column(Q["list_blobs_named"], names=list(names))


async def find_aliases(tx: Tx, content_ids: Sequence[ContentId]) -> dict[ContentId, Blob]:
    """Return the blobs of known content ids; they stay until this transaction has referred to them."""
    found = await tx.all(_Alias, Q["find_aliases"], **_columns(content_ids))
    if found:
        await tx.execute(Q["keep_blobs"], ids=[alias.id for alias in found])
    return {
        ContentId(alias.platform, alias.scope, alias.content_id, alias.size_bytes): Blob(
            alias.id, alias.sha256, alias.size_bytes, alias.object_name
        )
        for alias in found
    }


async def upsert_aliases(tx: Tx, aliases: dict[ContentId, UUID], *, now: datetime) -> None:
    """Note what platforms call blobs; the latest word counts."""
    if aliases:
        await tx.execute(
            Q["upsert_aliases"], **_columns(list(aliases)), blob_ids=list(aliases.values()), now=now
        )


async def mark_damaged(tx: Tx, blob_ids: Sequence[UUID], *, now: datetime) -> None:
    """Note that objects are missing or damaged: known ids no longer lead there, and storing replaces them."""
    await tx.execute(Q["mark_damaged"], ids=list(blob_ids), now=now)


def _columns(content_ids: Sequence[ContentId]) -> dict[str, list[object]]:
    return {
        "platforms": [content.platform for content in content_ids],
        "scopes": [content.scope for content in content_ids],
        "content_ids": [content.content_id for content in content_ids],
        "sizes": [content.size_bytes for content in content_ids],
    }
