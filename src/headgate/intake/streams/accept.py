"""Takes messages in: every candidate becomes a sighting with its verdict, whichever way the message came.

Pages, live events, rechecks and misses all come through here, so that they cannot judge differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.library.archive_sets.volumes import read_volume_name
from headgate.domain.streams.filters import Candidate
from headgate.domain.streams.messages import Attachment, Lens, Message
from headgate.domain.streams.rules import ChannelRules
from headgate.domain.streams.schedule import RATE_OVER_H, raised_rate
from headgate.domain.text import MAX_KEY_BYTES, is_key, is_whole, stand_in_key, storable
from headgate.intake.streams.store_sightings import store_sightings
from headgate.kernel.clock import utc_from_timestamp
from headgate.kernel.ids import Ids
from headgate.storage.catalogue.sightings import NewMessage, NewSighting
from headgate.storage.database import Tx
from headgate.storage.streams import misses, streams
from headgate.storage.streams.streams import LockedStream

NEVER_EDITED = utc_from_timestamp(0)
MAX_TEXT = 100_000
"""Characters of a message that are kept; no platform's own limit comes near it."""
RECENT = timedelta(hours=RATE_OVER_H)
"""Older messages say nothing about how often new ones come."""


@dataclass(frozen=True)
class AcceptedMessages:
    """What became of some messages."""

    new_kept: int
    """Sightings that were not known before and are kept."""
    unfit: Mapping[str, str]
    """Keys of messages that the tables cannot hold, and why; each is a miss now."""


async def accept_messages(
    tx: Tx,
    channel_id: UUID,
    messages: Sequence[Message],
    *,
    rules: ChannelRules,
    ids: Ids,
    now: datetime,
    seen_at: datetime | None = None,
    unreadable: Sequence[str] = (),
) -> AcceptedMessages:
    """Store what messages hold with its items, and keep count, all under the stream's lock.

    `seen_at` is when they were asked for, if that was before now: what was deleted later stays so.
    """
    await streams.lock_stream(tx, channel_id)
    unfit = {message.key: reason for message in messages if (reason := _why_unfit(message))}
    fitting = [message for message in messages if message.key not in unfit]
    newest = {message.key: message for message in sorted(fitting, key=_version)}
    holding = [message for message in newest.values() if message.attachments or message.links]
    sightings = [sighting for message in holding for sighting in sightings_of(message, rules=rules, ids=ids)]
    new_kept = await store_sightings(
        tx,
        channel_id,
        sightings,
        messages=[_stored(message) for message in holding],
        rules=rules,
        ids=ids,
        now=now,
        seen_at=seen_at or now,
    )
    await misses.clear_read(tx, channel_id, list(newest))
    await misses.note_unreadable(tx, channel_id, _storable_keys(unreadable), ids=ids, now=now)
    for reason in sorted(set(unfit.values())):
        keys = _storable_keys([key for key, why in unfit.items() if why == reason])
        await misses.note_unreadable(tx, channel_id, keys, ids=ids, now=now, error_message=reason)
    return AcceptedMessages(new_kept, unfit)


async def count_covered(
    tx: Tx,
    channel_id: UUID,
    locked: LockedStream,
    messages: Sequence[Message],
    *,
    lens: Lens,
    now: datetime,
) -> int:
    """Count messages that are about to be covered, and let the stream's rate follow.

    The stream counts each message once, whichever lens reads it and however often. Returns how many of them
    this lens has not read since the last reset.
    """
    by_position = {message.position: message for message in messages}
    keys = {position: message.key for position, message in by_position.items()}
    unread = await streams.list_unread(tx, channel_id, keys, lens=lens)
    new = [by_position[position] for position, uncounted in unread.items() if uncounted]
    if new:
        arrivals = sum(message.sent_at > now - RECENT for message in new)
        rate = raised_rate(locked.arrival_rate, arrivals=arrivals, rated_at=locked.rated_at, now=now)
        await streams.count_messages(tx, channel_id, messages=len(new), arrival_rate=rate, now=now)
    if lens != "everything":
        await streams.mark_counted(tx, channel_id, [message.key for message in new])
    return len(unread)


def sightings_of(message: Message, *, rules: ChannelRules, ids: Ids) -> Iterator[NewSighting]:
    """Return what a message holds: its files and its links, each judged."""
    for attachment in message.attachments:
        yield _sighting(message, attachment, url="", rules=rules, ids=ids)
    for number, url in enumerate(dict.fromkeys(message.links)):
        link = Attachment(
            f"link:{number}", file_name="", size_bytes=0, mime_type="", content_id=f"link:{url}"
        )
        yield _sighting(message, link, url=url, rules=rules, ids=ids)


def _sighting(
    message: Message, attachment: Attachment, *, url: str, rules: ChannelRules, ids: Ids
) -> NewSighting:
    candidate = Candidate(
        file_name=storable(attachment.file_name),
        mime_type=storable(attachment.mime_type),
        size_bytes=attachment.size_bytes,
        author=storable(message.author),
        from_bot=message.from_bot,
        from_webhook=message.from_webhook,
        url=storable(url),
    )
    judged = rules.judge(candidate, topic=message.topic)
    volume = None if url else read_volume_name(candidate.file_name)
    return NewSighting(
        id=ids.new(),
        message_key=message.key,
        attachment_key=attachment.key,
        position=message.position,
        topic=storable(message.topic),
        url=candidate.url,
        file_name=candidate.file_name,
        size_bytes=attachment.size_bytes,
        mime_type=candidate.mime_type,
        content_id=storable(attachment.content_id),
        sent_at=message.sent_at,
        version_at=_version(message),
        verdict=judged.verdict,
        settings_hash=judged.settings_hash,
        volume_key=volume.set_key if volume else "",
        author_key=_author_key(message),
        assembled=volume is not None and (not volume.ambiguous or volume.naming == "bare"),
    )


def _author_key(message: Message) -> str:
    return _short_key(message.author_key or message.author)


def _stored(message: Message) -> NewMessage:
    """Return a message as it is stored; a name that no index can hold gets a short one in its place."""
    return NewMessage(
        key=message.key,
        position=message.position,
        topic=storable(message.topic),
        album=_short_key(message.album),
        author_key=_author_key(message),
        author=storable(message.author),
        from_bot=message.from_bot,
        from_webhook=message.from_webhook,
        text=storable(message.text)[:MAX_TEXT],
        reply_to=_short_key(message.reply_to),
        sent_at=message.sent_at,
        version_at=_version(message),
    )


def _short_key(key: str) -> str:
    return key if not key or is_key(key) else stand_in_key(key)


def _why_unfit(message: Message) -> str:
    """Return why the tables cannot hold a message, which is then a miss; empty if they can."""
    if not is_key(message.key):
        return "the message's key cannot be stored"
    if not is_whole(message.position):
        return "the message's position is too large"
    if message.topic and len(storable(message.topic).encode()) > MAX_KEY_BYTES:
        return "the topic's key cannot be stored"
    if not all(is_key(each.key) for each in message.attachments):
        return "the key of an attachment cannot be stored"
    if not all(is_whole(each.size_bytes) for each in message.attachments):
        return "the size of an attachment is too large"
    return ""


def _storable_keys(keys: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(map(_short_key, keys)))


def _version(message: Message) -> datetime:
    """Return when a message got the form that it has; whatever was edited is newer than what never was.

    The time that a message claims for itself is no measure: it may lie in the future.
    """
    return message.edited_at or NEVER_EDITED
