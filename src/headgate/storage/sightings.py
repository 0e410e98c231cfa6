"""Sightings, and the items that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries("sightings")


@dataclass(frozen=True)
class NewSighting:
    """One attachment seen in one message, with its verdict: kept, or why not."""

    id: UUID
    message_key: str
    attachment_key: str
    position: int
    topic: str
    album: str
    author: str
    file_name: str
    size_bytes: int
    mime_type: str
    content_id: str
    sent_at: datetime
    version_at: datetime
    """When the message got the form in which it was seen."""
    verdict: str


@dataclass(frozen=True)
class WaitingSighting:
    """A kept sighting that is no item yet."""

    id: UUID
    channel_id: UUID
    message_key: str
    attachment_key: str
    file_name: str
    size_bytes: int
    mime_type: str
    content_id: str
    sent_at: datetime


@dataclass(frozen=True)
class NewItem:
    """An item that a sighting asks for."""

    id: UUID
    sighting_id: UUID
    content_key: str
    kind: str
    title: str
    size_bytes: int
    sent_at: datetime


async def upsert_sightings(
    tx: Tx, channel_id: UUID, sightings: Sequence[NewSighting], *, now: datetime
) -> int:
    """Store what was seen; returns how many rows are new or changed."""
    if not sightings:
        return 0
    return await tx.execute(
        Q["upsert_sightings"],
        channel_id=channel_id,
        now=now,
        ids=[s.id for s in sightings],
        message_keys=[s.message_key for s in sightings],
        attachment_keys=[s.attachment_key for s in sightings],
        positions=[s.position for s in sightings],
        topics=[s.topic for s in sightings],
        albums=[s.album for s in sightings],
        authors=[s.author for s in sightings],
        file_names=[s.file_name for s in sightings],
        sizes=[s.size_bytes for s in sightings],
        mime_types=[s.mime_type for s in sightings],
        content_ids=[s.content_id for s in sightings],
        sent_ats=[s.sent_at for s in sightings],
        version_ats=[s.version_at for s in sightings],
        verdicts=[s.verdict for s in sightings],
    )


async def mark_deleted(tx: Tx, channel_id: UUID, message_keys: Sequence[str], *, now: datetime) -> int:
    return await tx.execute(
        Q["mark_deleted"], channel_id=channel_id, message_keys=list(message_keys), now=now
    )


async def list_waiting_channels(tx: Tx, *, limit: int) -> list[str]:
    return await tx.column(Q["list_waiting_channels"], limit=limit)


async def take_waiting(tx: Tx, channel_id: UUID, *, limit: int) -> list[WaitingSighting]:
    return await tx.all(WaitingSighting, Q["take_waiting"], channel_id=channel_id, limit=limit)


async def insert_items(tx: Tx, channel_id: UUID, items: Sequence[NewItem], *, now: datetime) -> int:
    """Make the items that are not there, and link all sightings; returns how many are new."""
    if not items:
        return 0
    made = await tx.execute(
        Q["insert_items"],
        channel_id=channel_id,
        now=now,
        ids=[item.id for item in items],
        content_keys=[item.content_key for item in items],
        kinds=[item.kind for item in items],
        titles=[item.title for item in items],
        sizes=[item.size_bytes for item in items],
        sent_ats=[item.sent_at for item in items],
    )
    await tx.execute(
        Q["link_items"],
        channel_id=channel_id,
        sighting_ids=[item.sighting_id for item in items],
        content_keys=[item.content_key for item in items],
    )
    return made
