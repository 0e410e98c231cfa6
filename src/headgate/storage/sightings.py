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
    from_bot: bool
    from_webhook: bool
    url: str
    file_name: str
    size_bytes: int
    mime_type: str
    content_id: str
    sent_at: datetime
    version_at: datetime
    """When the message got the form in which it was seen."""
    verdict: str
    settings_hash: str


@dataclass(frozen=True)
class WaitingSighting:
    """A kept sighting that is no item yet."""

    id: UUID
    channel_id: UUID
    message_key: str
    attachment_key: str
    url: str
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
    tx: Tx, channel_id: UUID, sightings: Sequence[NewSighting], *, now: datetime, seen_at: datetime
) -> int:
    """Store what was seen, and keep the stream's count of messages; returns how many are new and kept.

    The caller holds the stream's lock: what others change meanwhile would be counted wrongly.
    """
    if not sightings:
        return 0
    new_kept = await tx.value(
        Q["upsert_sightings"],
        channel_id=channel_id,
        now=now,
        seen_at=seen_at,
        ids=[s.id for s in sightings],
        message_keys=[s.message_key for s in sightings],
        attachment_keys=[s.attachment_key for s in sightings],
        positions=[s.position for s in sightings],
        topics=[s.topic for s in sightings],
        albums=[s.album for s in sightings],
        authors=[s.author for s in sightings],
        from_bots=[s.from_bot for s in sightings],
        from_webhooks=[s.from_webhook for s in sightings],
        urls=[s.url for s in sightings],
        file_names=[s.file_name for s in sightings],
        sizes=[s.size_bytes for s in sightings],
        mime_types=[s.mime_type for s in sightings],
        content_ids=[s.content_id for s in sightings],
        sent_ats=[s.sent_at for s in sightings],
        version_ats=[s.version_at for s in sightings],
        verdicts=[s.verdict for s in sightings],
        settings_hashes=[s.settings_hash for s in sightings],
    )
    topics = sorted({s.topic for s in sightings if s.topic})
    if topics:
        await tx.execute(Q["note_topics"], channel_id=channel_id, topics=topics, now=now)
    return new_kept


async def count_kept_messages(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> int:
    """Return how many of the messages hold something kept."""
    if not message_keys:
        return 0
    return await tx.value(Q["count_kept_messages"], channel_id=channel_id, message_keys=list(message_keys))


async def shift_message_count(tx: Tx, channel_id: UUID, *, by: int) -> None:
    """Let the stream's count of such messages follow."""
    if by:
        await tx.execute(Q["shift_message_count"], channel_id=channel_id, by=by)


async def mark_deleted(tx: Tx, channel_id: UUID, message_keys: Sequence[str], *, now: datetime) -> int:
    return await tx.execute(
        Q["mark_deleted"], channel_id=channel_id, message_keys=list(message_keys), now=now
    )


async def rename_posts(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> int:
    """Let the items of posts follow their titles; returns how many did."""
    return await tx.execute(Q["rename_posts"], channel_id=channel_id, message_keys=list(message_keys))


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
