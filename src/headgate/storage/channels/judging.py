"""Judging again: which sightings were judged under other settings, and what follows from new verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import touch_items

Q = load_queries(__name__)


@dataclass(frozen=True)
class Judging:
    """A channel whose sightings are to be judged again."""

    channel_id: UUID
    platform: str
    wake_seq: int


@dataclass(frozen=True)
class StaleSighting:
    """A sighting that was judged under other settings, with all that a verdict needs."""

    id: UUID
    message_key: str
    topic: str
    author: str
    from_bot: bool
    from_webhook: bool
    url: str
    file_name: str
    size_bytes: int
    mime_type: str
    verdict: str
    position: int
    volume_key: str
    author_key: str
    assembled: bool


@dataclass(frozen=True)
class NewVerdict:
    """What a sighting is judged to be now."""

    id: UUID
    verdict: str
    settings_hash: str


async def list_due_judging(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_judging"], now=now, limit=limit)


async def set_judging_due(tx: Tx, channel_id: UUID, *, due_at: datetime | None) -> None:
    await tx.execute(Q["set_judging_due"], channel_id=channel_id, due_at=due_at)


async def get_judging(tx: Tx, channel_id: UUID) -> Judging | None:
    return await tx.one(Judging, Q["get_judging"], channel_id=channel_id)


async def list_stale(
    tx: Tx, channel_id: UUID, *, base_hash: str, topic_hashes: Mapping[str, str], limit: int
) -> list[StaleSighting]:
    """Return sightings whose hash is not their topic's, or the base's where the topic has none of its own."""
    return await tx.all(
        StaleSighting,
        Q["list_stale"],
        channel_id=channel_id,
        base_hash=base_hash,
        topics=list(topic_hashes),
        hashes=list(topic_hashes.values()),
        limit=limit,
    )


async def judge_sightings(tx: Tx, verdicts: Sequence[NewVerdict]) -> None:
    await tx.execute(
        Q["judge_sightings"],
        ids=[each.id for each in verdicts],
        verdicts=[each.verdict for each in verdicts],
        hashes=[each.settings_hash for each in verdicts],
    )


async def has_waiting(tx: Tx, sighting_ids: Sequence[UUID]) -> bool:
    return await tx.value(Q["has_waiting"], ids=list(sighting_ids))


async def show_items_of(tx: Tx, sighting_ids: Sequence[UUID]) -> int:
    """Show the items of these sightings that have one kept, hide the others; returns how many changed.

    For whoever changed verdicts or gave items to sightings, after the change and in the same transaction.
    """
    if not sighting_ids:
        return 0
    item_ids = await tx.column(Q["lock_items"], ids=list(sighting_ids))
    return await _show(tx, item_ids)


async def show_items(tx: Tx, item_ids: Sequence[UUID]) -> int:
    """Show those of the items that have something kept, hide the others; returns how many changed."""
    if not item_ids:
        return 0
    await tx.column(Q["lock_known_items"], item_ids=list(item_ids))
    return await _show(tx, item_ids)


async def _show(tx: Tx, item_ids: Sequence[UUID]) -> int:
    touch_items(tx, item_ids)
    return await tx.execute(Q["show_items"], item_ids=list(item_ids)) if item_ids else 0


async def note_progress(tx: Tx, channel_id: UUID, *, judged: int, changed: int) -> None:
    await tx.execute(Q["note_progress"], channel_id=channel_id, judged=judged, changed=changed)


async def end_judging(tx: Tx, judging: Judging) -> bool:
    """Take the wish away; false if somebody has asked again."""
    return await tx.execute(Q["end_judging"], channel_id=judging.channel_id, seen=judging.wake_seq) == 1
