"""Settings and switches of channels: reading all layers, and changing one.

A change takes the settings for itself, changes one layer, raises the version and asks for judging, in the
caller's transaction. Whoever writes sightings holds the settings as they are until it commits, so no sighting
is ever judged by settings that were changed before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

CHANNEL = "headgate_settings"
"""Notices of this name carry the new version."""

Stored = dict[str, Any]


@dataclass(frozen=True)
class Layers:
    """What is set for one channel, outermost first, and which of its topics differ."""

    channel_id: UUID
    enabled: bool
    layers: list[Stored]
    topics: list[tuple[str, bool, Stored]]
    """Key, switch and settings of each."""


@dataclass(frozen=True)
class Layer:
    """One channel's or topic's own switch and settings."""

    enabled: bool
    settings: Stored


async def hold_settings(tx: Tx) -> int:
    """Keep settings as they are until the transaction ends; returns their version."""
    return await tx.value(Q["lock_settings"], for_change=False)


async def lock_settings(tx: Tx) -> int:
    """Take settings for a change, as the first lock of the transaction; returns their version.

    Every change does so itself. Who reads a layer before replacing it does so first.
    """
    return await tx.value(Q["lock_settings"], for_change=True)


async def list_layers(tx: Tx, channel_ids: Sequence[UUID]) -> list[Layers]:
    return await tx.all(Layers, Q["list_layers"], channel_ids=list(channel_ids))


async def get_everything(tx: Tx) -> Stored:
    return await tx.value(Q["get_everything"])


async def get_channel(tx: Tx, channel_id: UUID) -> Layer | None:
    return await tx.one(Layer, Q["get_channel"], channel_id=channel_id)


async def get_topic(tx: Tx, channel_id: UUID, topic: str) -> Layer | None:
    return await tx.one(Layer, Q["get_topic"], channel_id=channel_id, topic=topic)


async def set_everything(tx: Tx, settings: Stored, *, now: datetime) -> bool:
    """Replace the layer of everything; false if it was so before."""
    await lock_settings(tx)
    if not await tx.execute(Q["set_everything"], settings=Jsonb(settings)):
        return False
    await announce_change(tx, None, now=now)
    return True


async def set_channel(tx: Tx, channel_id: UUID, settings: Stored, *, now: datetime) -> bool:
    """Replace a channel's or parent's layer; false if it was so before, or there is no such channel."""
    await lock_settings(tx)
    if not await tx.execute(Q["set_channel"], channel_id=channel_id, settings=Jsonb(settings)):
        return False
    await announce_change(tx, channel_id, now=now)
    return True


async def set_topic(tx: Tx, channel_id: UUID, topic: str, settings: Stored, *, now: datetime) -> bool:
    """Replace a topic's layer; false if it was so before, or there is no such topic."""
    await lock_settings(tx)
    if not await tx.execute(Q["set_topic"], channel_id=channel_id, topic=topic, settings=Jsonb(settings)):
        return False
    await announce_change(tx, channel_id, now=now)
    return True


async def switch_channel(tx: Tx, channel_id: UUID, *, enabled: bool, now: datetime) -> bool:
    """Switch a channel or a parent on or off; false if it was so before, or there is no such channel."""
    await lock_settings(tx)
    if not await tx.execute(Q["switch_channel"], channel_id=channel_id, enabled=enabled):
        return False
    channel_ids = await announce_change(tx, channel_id, now=now)
    await tx.execute(Q["wake_streams"], channel_ids=channel_ids, now=now)
    return True


async def switch_topic(tx: Tx, channel_id: UUID, topic: str, *, enabled: bool, now: datetime) -> bool:
    """Switch a topic on or off; false if it was so before, or there is no such topic."""
    await lock_settings(tx)
    if not await tx.execute(Q["switch_topic"], channel_id=channel_id, topic=topic, enabled=enabled):
        return False
    await announce_change(tx, channel_id, now=now)
    return True


async def announce_change(tx: Tx, channel_id: UUID | None, *, now: datetime) -> list[UUID]:
    """Make all rules of a channel and what is in it old, and have its sightings judged again; None: of all.

    Also for changes that are none of settings and yet change rules: a channel that gets another parent.
    Returns the channels that are concerned, none named for all.
    """
    await lock_settings(tx)
    await tx.value(Q["raise_version"])
    if channel_id is None:
        await tx.execute(Q["arm_judging_of_all"], now=now)
        return []
    channel_ids = await tx.column(Q["list_tree"], channel_id=channel_id)
    await tx.execute(Q["arm_judging"], channel_ids=channel_ids, now=now)
    return channel_ids
