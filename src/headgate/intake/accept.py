"""Takes messages in: every attachment becomes a sighting, whichever way the message came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.messages import Message
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.sightings import NewSighting, upsert_sightings

KEPT = "kept"
UNREADABLE = "unreadable"


def sightings_of(message: Message, ids: Ids) -> Iterable[NewSighting]:
    """Return what a message holds, one sighting an attachment."""
    for attachment in message.attachments:
        yield NewSighting(
            id=ids.new(),
            message_key=message.key,
            attachment_key=attachment.key,
            position=message.position,
            topic=message.topic,
            album=message.album,
            author=message.author,
            file_name=attachment.file_name,
            size_bytes=attachment.size_bytes,
            mime_type=attachment.mime_type,
            content_id=attachment.content_id,
            sent_at=message.sent_at,
            version_at=_version(message),
            verdict=KEPT,
        )


def unreadable_sighting(key: str, ids: Ids, *, now: datetime) -> NewSighting:
    """Remember a message that cannot be parsed, so that it can be fetched again by its key."""
    return NewSighting(
        id=ids.new(),
        message_key=key,
        attachment_key="",
        position=0,
        topic="",
        album="",
        author="",
        file_name="",
        size_bytes=0,
        mime_type="",
        content_id="",
        sent_at=now,
        version_at=now,
        verdict=UNREADABLE,
    )


async def accept_messages(
    tx: Tx,
    channel_id: UUID,
    messages: Sequence[Message],
    *,
    ids: Ids,
    now: datetime,
    unreadable: Sequence[str] = (),
) -> int:
    """Store the sightings of messages and wake their ingest; returns how many are new or changed.

    The wake-up comes first: it may wait for a running ingest, which in turn wants the sightings. Whoever
    holds sightings must not wait for a job.
    """
    newest = {message.key: message for message in sorted(messages, key=_version)}
    sightings = [sighting for message in newest.values() for sighting in sightings_of(message, ids)]
    if sightings:
        await enqueue(tx, [Wake("ingest", str(channel_id))])
    sightings += [unreadable_sighting(key, ids, now=now) for key in dict.fromkeys(unreadable)]
    return await upsert_sightings(tx, channel_id, sightings, now=now)


def _version(message: Message) -> datetime:
    """Return when a message got the form that it has."""
    return message.edited_at or message.sent_at
