"""Sets of volumes: which names are to be assembled, their volumes, and what is known of the sets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from headgate.domain.library.archive_sets.completeness import Completeness, CompletenessReason
from headgate.domain.library.archive_sets.volumes import Evidence
from headgate.storage.arrays import columns
from headgate.storage.catalogue.sightings import NewItem
from headgate.storage.database import Tx
from headgate.storage.labels import labels
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import touch_items, touch_leaving

Q = load_queries(__name__)


class Bucket(NamedTuple):
    """A name under which one author posts volumes in a channel."""

    volume_key: str
    author_key: str


class TouchedVolume(NamedTuple):
    """A volume that changed, by its bucket and position."""

    volume_key: str
    author_key: str
    position: int


@dataclass(frozen=True)
class DueBucket:
    """A bucket to be assembled."""

    volume_key: str
    author_key: str
    changed_from: int | None
    changed_to: int | None

    @property
    def key(self) -> Bucket:
        return Bucket(self.volume_key, self.author_key)


@dataclass(frozen=True)
class StoredVolume:
    """A sighting that may be a volume, with all that assembling needs."""

    id: UUID
    message_key: str
    attachment_key: str
    position: int
    topic: str
    url: str
    file_name: str
    size_bytes: int
    mime_type: str
    content_id: str
    sent_at: datetime
    seen_at: datetime
    verdict: str
    settings_hash: str
    item_id: UUID | None
    assembled: bool
    evidence: Evidence
    author: str
    from_bot: bool
    from_webhook: bool
    pinned_to: UUID | None
    separated: bool
    vanished: bool
    """It was deleted on the platform before it was stored."""


class PlacedVolume(NamedTuple):
    """Where a volume belongs, and how its set is judged."""

    id: UUID
    item_id: UUID | None
    verdict: str
    settings_hash: str


@dataclass(frozen=True)
class ItemSet:
    """What is known of an item that has several volumes."""

    item_id: UUID
    state: Completeness
    reason: CompletenessReason
    present: int
    total: int | None
    missing_count: int
    missing: Sequence[str]
    """The first of the missing ones, by name."""
    problem: bool
    arrived_at: datetime
    dismissed_at: datetime | None = None
    told: bool = False


class _Total(NamedTuple):
    item_id: UUID
    total: int


@dataclass(frozen=True)
class SetFile:
    """A file of an item, as a person's choice concerns it."""

    id: UUID
    channel_id: UUID
    volume_key: str
    author_key: str
    position: int
    item_id: UUID
    file_name: str
    size_bytes: int
    content_id: str
    vanished: bool


async def list_buckets(tx: Tx, channel_id: UUID, volume_keys: Collection[str]) -> list[Bucket]:
    """Return the buckets of these names."""
    if not volume_keys:
        return []
    return await tx.all(Bucket, Q["list_buckets"], channel_id=channel_id, volume_keys=sorted(volume_keys))


async def touch_buckets(tx: Tx, channel_id: UUID, volumes: Iterable[TouchedVolume], *, now: datetime) -> None:
    """Have the volumes of these names assembled anew; the caller has the stream's lock."""
    rows = list(volumes)
    if rows:
        await tx.execute(
            Q["touch_buckets"], channel_id=channel_id, now=now, **columns(TouchedVolume._fields, rows)
        )


async def list_due_channels(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_channels"], now=now, limit=limit)


async def postpone_buckets(tx: Tx, channel_id: UUID, *, until: datetime, now: datetime) -> None:
    await tx.execute(Q["postpone_buckets"], channel_id=channel_id, until=until, now=now)


async def reopen_buckets(tx: Tx, channel_id: UUID, *, now: datetime) -> None:
    await tx.execute(Q["reopen_buckets"], channel_id=channel_id, now=now)


async def list_due_buckets(tx: Tx, channel_id: UUID, *, now: datetime, limit: int) -> list[DueBucket]:
    return await tx.all(DueBucket, Q["list_due_buckets"], channel_id=channel_id, now=now, limit=limit)


async def settle_bucket(tx: Tx, channel_id: UUID, bucket: Bucket, *, due_at: datetime | None) -> None:
    """Note that a bucket is assembled, and when time alone changes something."""
    await tx.execute(Q["settle_bucket"], channel_id=channel_id, due_at=due_at, **bucket._asdict())


async def lock_loose(tx: Tx, channel_id: UUID, bucket: Bucket, *, limit: int) -> None:
    """Wait for those who make items of volumes that were not assembled so far."""
    await tx.column(Q["lock_loose"], channel_id=channel_id, limit=limit, **bucket._asdict())


async def list_volumes(
    tx: Tx, channel_id: UUID, bucket: Bucket, *, position: int, limit: int
) -> list[StoredVolume]:
    """Return volumes from a position on, with those that a person put there."""
    return await tx.all(
        StoredVolume,
        Q["list_volumes"],
        channel_id=channel_id,
        position=position,
        limit=limit,
        **bucket._asdict(),
    )


async def find_position_before(
    tx: Tx, channel_id: UUID, bucket: Bucket, *, position: int, limit: int
) -> int | None:
    """Return where to begin to have so many volumes before a position; None: there is none before."""
    return await tx.value(
        Q["find_position_before"],
        channel_id=channel_id,
        position=position,
        limit=limit,
        **bucket._asdict(),
    )


async def list_sets(tx: Tx, item_ids: Collection[UUID]) -> dict[UUID, ItemSet]:
    if not item_ids:
        return {}
    found = await tx.all(ItemSet, Q["list_sets"], item_ids=sorted(item_ids))
    return {each.item_id: each for each in found}


async def list_totals(tx: Tx, item_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return how many volumes items have, as far as headers tell."""
    return dict(await tx.all(_Total, Q["list_totals"], item_ids=sorted(item_ids))) if item_ids else {}


async def reassemble_items(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> None:
    """Have the volumes of items assembled anew; the caller has the stream's lock."""
    if item_ids:
        await tx.execute(Q["reassemble_items"], item_ids=list(item_ids), now=now)


async def place_volumes(tx: Tx, volumes: Sequence[PlacedVolume]) -> None:
    if volumes:
        touch_items(tx, [place.item_id for place in volumes if place.item_id])
        await tx.execute(Q["place_volumes"], **columns(PlacedVolume._fields, volumes))


async def release_strangers(
    tx: Tx, bucket: Bucket, *, item_ids: Sequence[UUID], member_ids: Sequence[UUID]
) -> list[TouchedVolume]:
    """Take from the sets of a bucket what others posted; returns what of it is to be assembled anew."""
    if not item_ids:
        return []
    return await tx.all(
        TouchedVolume,
        Q["release_strangers"],
        item_ids=list(item_ids),
        member_ids=list(member_ids),
        **bucket._asdict(),
    )


async def update_items(tx: Tx, items: Sequence[NewItem]) -> int:
    touch_items(tx, [item.id for item in items])
    return await tx.execute(Q["update_items"], **columns(NewItem._fields, items)) if items else 0


async def save_sets(tx: Tx, sets: Sequence[ItemSet]) -> int:
    """Note what is known of sets; returns how many changed."""
    if not sets:
        return 0
    names = ("item_id", "state", "reason", "present", "total", "missing_count", "problem", "arrived_at")
    rows = [
        {name: _plain(getattr(each, name)) for name in names} | {"missing": list(each.missing)}
        for each in sets
    ]
    touch_items(tx, [each.item_id for each in sets])
    return await tx.execute(Q["save_sets"], sets=Jsonb(rows))


async def delete_sets(tx: Tx, item_ids: Sequence[UUID]) -> None:
    if item_ids:
        touch_items(tx, item_ids)
        await tx.execute(Q["delete_sets"], item_ids=list(item_ids))


async def tell_sets(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> None:
    """Make news of complete sets, once."""
    if item_ids:
        await tx.execute(Q["tell_sets"], item_ids=list(item_ids), now=now)


async def hush_sets(tx: Tx, item_ids: Sequence[UUID]) -> None:
    """Take back what was to be told of items before they became sets."""
    if item_ids:
        await tx.execute(Q["hush_sets"], item_ids=list(item_ids))


async def merge_items(tx: Tx, merged: Mapping[UUID, UUID]) -> None:
    """Let items be parts of others: their addresses lead on, and what people have of them is handed over."""
    if merged:
        await tx.value(Q["merge_items"], old_ids=list(merged), item_ids=list(merged.values()))
        await labels.hand_over(tx, merged)
        await touch_leaving(tx, list(merged))
        touch_items(tx, merged.values())
        await tx.execute(Q["delete_items"], item_ids=list(merged))


async def find_alias(tx: Tx, item_id: UUID) -> UUID | None:
    """Return the set that an item is a part of now."""
    return await tx.value(Q["find_alias"], old_id=item_id)


async def choose(
    tx: Tx, sighting_ids: Sequence[UUID], *, item_id: UUID | None, bucket: Bucket | None
) -> None:
    """Note a person's word on volumes: they belong to this item, assembled in this bucket; or to none."""
    await tx.execute(
        Q["choose"],
        sighting_ids=list(sighting_ids),
        item_id=item_id,
        volume_key=bucket and bucket.volume_key,
        author_key=bucket and bucket.author_key,
    )


async def list_files_of(tx: Tx, item_ids: Sequence[UUID]) -> list[SetFile]:
    return await tx.all(SetFile, Q["list_files_of"], item_ids=list(item_ids))


async def dismiss(tx: Tx, item_id: UUID, *, now: datetime) -> bool:
    """Note that a person has seen a set's problem; false if there is none."""
    touch_items(tx, [item_id])
    return await tx.execute(Q["dismiss"], item_id=item_id, now=now) == 1


async def note_evidence(
    tx: Tx, channel_id: UUID, evidence: Mapping[UUID, Evidence], *, now: datetime
) -> None:
    """Note what the bytes of files say; the caller has the stream's lock."""
    if evidence:
        touched = await tx.all(
            TouchedVolume,
            Q["note_evidence"],
            id=list(evidence),
            evidence=list(evidence.values()),
            now=now,
        )
        await touch_buckets(tx, channel_id, touched, now=now)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, (UUID, datetime)) else value
