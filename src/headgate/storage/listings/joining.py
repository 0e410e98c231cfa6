"""Joining two listings that turned out to be one: all that hangs on the first moves to the second."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import queue_channel

Q = load_queries(__name__)

MOVES = (
    Q["move_aliases"],
    Q["move_follows"],
    Q["move_sources"],
    Q["move_releases"],
    Q["move_items"],
    Q["move_sightings"],
    Q["move_messages"],
    Q["move_news"],
    Q["move_notifications"],
)
"""In this order: sightings follow their items, and news what they tell of."""


async def find_other(tx: Tx, channel_id: UUID, *, platform: str, key: str) -> UUID | None:
    """Return another listing that is followed under a key."""
    return await tx.value(Q["find_other"], channel_id=channel_id, platform=platform, key=key)


async def brings_other_series(tx: Tx, *, from_id: UUID, into_id: UUID) -> bool:
    """Tell whether two listings send the same entries to different series."""
    return await tx.value(Q["brings_other_series"], from_id=from_id, into_id=into_id)


async def note_double(tx: Tx, channel_id: UUID, *, into_id: UUID | None) -> None:
    """Note which other listing a listing moved onto without being joined with it."""
    await tx.execute(Q["note_double"], channel_id=channel_id, into_id=into_id)


async def note_alias(tx: Tx, channel_id: UUID, *, key: str, now: datetime) -> None:
    """Note an address under which a listing was followed before."""
    await tx.execute(Q["note_alias"], channel_id=channel_id, key=key, now=now)


async def move_all(tx: Tx, *, from_id: UUID, into_id: UUID) -> list[UUID]:
    """Move everything that the other listing does not have; returns the chapters of what it has."""
    for move in MOVES:
        await tx.execute(move, from_id=from_id, into_id=into_id)
    await queue_channel(tx, into_id)
    return await tx.column(Q["list_left"], from_id=from_id)
