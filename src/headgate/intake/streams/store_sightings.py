"""Stores sightings with the items that they ask for, in the transaction that takes them in.

What is new becomes an item at once: a job for it would cost more than the item. Ingesting is left with what
could not be made here, and with what is wanted only after settings have changed or a miss is tried again.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from headgate.catalogue.making import Made, make_items
from headgate.domain.streams.filters import KEPT
from headgate.domain.streams.rules import ChannelRules
from headgate.intake.fetching.wishes import wish_files, withdraw_files
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.ids import Ids
from headgate.storage.catalogue.sets import Bucket, TouchedVolume, list_buckets, touch_buckets
from headgate.storage.catalogue.sightings import (
    KnownSighting,
    NewMessage,
    NewSighting,
    list_known,
    upsert_sightings,
)
from headgate.storage.channels.judging import show_items
from headgate.storage.database import Tx
from headgate.storage.errors import Refused
from headgate.storage.events import Event, publish
from headgate.storage.listings.news import NOTIFY
from headgate.storage.shelf.touched import queue_files, touch_albums
from headgate.storage.streams import misses

Place = tuple[str, str]
"""The message and the attachment in it."""


async def store_sightings(
    tx: Tx,
    channel_id: UUID,
    seen: Sequence[NewSighting],
    *,
    messages: Sequence[NewMessage],
    silent_keys: Container[str] = (),
    rules: ChannelRules | None = None,
    ids: Ids,
    now: datetime,
    seen_at: datetime,
) -> int:
    """Store what was seen with its items, and tell of them; returns how many are new and kept.

    `messages` are those that hold what was seen. Those in `silent_keys` notify no one. With `rules`, the
    content of files is wanted as they say.

    The order of locks is that of ingesting: wake-ups before sightings, and items that a sighting may be
    waiting for never before that sighting. So where something waits already, everything waits.
    """
    message_keys = sorted({sighting.message_key for sighting in seen})
    known = {_place(each): each for each in await list_known(tx, channel_id, message_keys)}
    seen = await _recognise_volumes(tx, channel_id, seen, known)
    asking = [sighting for sighting in seen if _asks_for_item(sighting, known.get(_place(sighting)))]
    made = await _make(
        tx,
        channel_id,
        asking,
        known,
        silent_keys=silent_keys,
        in_albums=any(message.album for message in messages),
        ids=ids,
        now=now,
    )
    if made is None:
        await enqueue(tx, [Wake("ingest", str(channel_id))])
        asking, made = [], Made()
    item_of = dict(zip(map(_place, asking), made.item_ids, strict=True))
    item_ids = [
        item_of.get(place) or _item_of_set(each, known.get(place))
        for each in seen
        for place in [_place(each)]
    ]
    new_kept = await upsert_sightings(
        tx, channel_id, seen, messages=messages, item_ids=item_ids, now=now, seen_at=seen_at
    )
    await touch_buckets(tx, channel_id, _left_sets(seen, known), now=now)
    await _resolve_misses(tx, channel_id, [sighting for sighting in asking if _place(sighting) in known])
    # Settings or the message may have changed since it was last seen, and nothing else would notice.
    touch_albums(tx, {(channel_id, message.album) for message in messages if message.album})
    changed = _items_to_look_at(seen, known).union(made.known_ids)
    shown = await show_items(tx, sorted(changed))
    if rules is not None:
        await _wish(tx, channel_id, seen, known, rules=rules, now=now)
    if made.new_items or shown:
        await publish(tx, Event("items"))
    if made.news:
        await enqueue(tx, [Wake(NOTIFY, str(channel_id))])
    return new_kept


async def _make(
    tx: Tx,
    channel_id: UUID,
    asking: Sequence[NewSighting],
    known: Mapping[Place, KnownSighting],
    *,
    silent_keys: Container[str],
    in_albums: bool,
    ids: Ids,
    now: datetime,
) -> Made | None:
    """Make items; none if that is left to ingesting, which also finds out what the database refuses."""
    if any(each.verdict == KEPT and each.item_id is None and not each.assembled for each in known.values()):
        return None
    if not asking:
        return Made()
    try:
        async with tx.attempt():
            return await make_items(
                tx, channel_id, asking, silent_keys=silent_keys, in_albums=in_albums, ids=ids, now=now
            )
    except Refused:
        return None


async def _recognise_volumes(
    tx: Tx, channel_id: UUID, seen: Sequence[NewSighting], known: Mapping[Place, KnownSighting]
) -> list[NewSighting]:
    """Leave volumes to assembling: those that are surely some, and `pack.rar` where `pack.r00` was seen.

    Their verdict and item are their set's, so what is known stays until it is assembled anew.
    """
    sure = {Bucket(each.volume_key, each.author_key) for each in seen if each.assembled}
    unsure = {each.volume_key for each in seen if each.volume_key and not each.assembled}
    sure.update(await list_buckets(tx, channel_id, unsure))
    return [
        _as_volume(each, known.get(_place(each)))
        if Bucket(each.volume_key, each.author_key) in sure
        else each
        for each in seen
    ]


def _as_volume(sighting: NewSighting, known: KnownSighting | None) -> NewSighting:
    if known is None or not _stays(sighting, known):
        return sighting._replace(assembled=True)
    return sighting._replace(assembled=True, verdict=known.verdict, settings_hash=known.settings_hash)


def _stays(sighting: NewSighting, known: KnownSighting) -> bool:
    """Tell whether a volume has the name and author that it had."""
    return known.assembled and (known.volume_key, known.author_key) == (
        sighting.volume_key,
        sighting.author_key,
    )


def _item_of_set(sighting: NewSighting, known: KnownSighting | None) -> UUID | None:
    return known.item_id if known and _stays(sighting, known) else None


def _left_sets(seen: Sequence[NewSighting], known: Mapping[Place, KnownSighting]) -> list[TouchedVolume]:
    """Return volumes whose message was edited so that they are no volumes of their set any more."""
    pairs = ((sighting, known.get(_place(sighting))) for sighting in seen)
    return [
        TouchedVolume(before.volume_key, before.author_key, before.position)
        for now, before in pairs
        if before is not None
        and before.assembled
        and not _stays(now, before)
        and now.version_at >= before.version_at
    ]


async def _wish(
    tx: Tx,
    channel_id: UUID,
    seen: Sequence[NewSighting],
    known: Mapping[Place, KnownSighting],
    *,
    rules: ChannelRules,
    now: datetime,
) -> None:
    """Want the content of what is new, and look again at what has changed; what is the same costs nothing."""
    fresh = [
        each.id
        for each in seen
        if each.verdict == KEPT and not each.url and not each.assembled and _place(each) not in known
    ]
    pairs = ((each, known.get(_place(each))) for each in seen)
    changed = [before.id for each, before in pairs if before is not None and _may_differ(each, before)]
    await wish_files(tx, channel_id, rules, [*fresh, *changed], now=now)
    await withdraw_files(tx, rules, changed)
    await queue_files(tx, changed)


def _may_differ(seen: NewSighting, known: KnownSighting) -> bool:
    """Tell whether another content, or none, may be wanted than before."""
    if known.deleted or known.item_id is None or seen.version_at != known.version_at:
        return True
    return (seen.verdict, seen.content_id) != (known.verdict, known.content_id)


async def _resolve_misses(tx: Tx, channel_id: UUID, seen: Sequence[NewSighting]) -> None:
    """Delete the misses of sightings that have an item now; given-up ones would stay forever."""
    if seen:
        await misses.resolve(
            tx,
            channel_id,
            message_keys=[sighting.message_key for sighting in seen],
            attachment_keys=[sighting.attachment_key for sighting in seen],
        )


def _asks_for_item(sighting: NewSighting, known: KnownSighting | None) -> bool:
    """Tell whether something is kept that has no item yet; a page from before an edit does not undo it."""
    if sighting.verdict != KEPT or sighting.assembled:
        return False
    if known is None:
        return True
    other = known.item_id is None or known.content_id != sighting.content_id or known.assembled
    return other and sighting.version_at >= known.version_at


def _items_to_look_at(seen: Sequence[NewSighting], known: Mapping[Place, KnownSighting]) -> set[UUID]:
    """Return the items of which something is judged otherwise now, or is something else.

    The others are left alone: whatever is read again would lock, and so write, each of its items.
    """
    pairs = ((sighting, known.get(_place(sighting))) for sighting in seen)
    return {
        before.item_id
        for now, before in pairs
        if before is not None
        and before.item_id is not None
        and (before.verdict, before.content_id) != (now.verdict, now.content_id)
    }


def _place(sighting: NewSighting | KnownSighting) -> Place:
    return sighting.message_key, sighting.attachment_key
