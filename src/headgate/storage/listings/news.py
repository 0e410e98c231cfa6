"""News: what is new and has yet to be told to those who follow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

NOTIFY = "notify"
"""The kind of job that tells of a channel's news; its key is the channel's id."""


@dataclass(frozen=True)
class ChapterNews:
    """News of a channel; without a chapter it is about an item."""

    id: int
    number: str
    title: str
    volume: str
    source: str
    """Who brings the chapter."""


async def list_channels_with_news(tx: Tx, *, now: datetime, limit: int, rested_since: datetime) -> list[str]:
    return await tx.column(Q["list_channels_with_news"], now=now, limit=limit, rested_since=rested_since)


async def lock_news(tx: Tx, channel_id: UUID, *, limit: int, now: datetime) -> list[ChapterNews]:
    """Return a channel's next news that is due, locked until the transaction ends."""
    return await tx.all(ChapterNews, Q["lock_news"], channel_id=channel_id, limit=limit, now=now)


async def create_notifications(
    tx: Tx, channel_id: UUID, bodies: Mapping[int, str], *, now: datetime, push_at: datetime
) -> list[UUID]:
    """Turn news into notifications with these texts; addresses are due at `push_at`, if not before.

    Returns the users who got one.
    """
    return await tx.column(
        Q["create_notifications"],
        channel_id=channel_id,
        news_ids=list(bodies),
        bodies=list(bodies.values()),
        now=now,
        push_at=push_at,
    )
