"""News: what is new and has yet to be told to those who follow it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

NOTIFY = "notify"
"""The kind of job that tells of a channel's news; its key is the channel's id."""


@dataclass(frozen=True)
class Told:
    """How much news was taken, how many notifications came of it, and for whom."""

    taken: int
    told: int
    user_ids: list[UUID]


async def list_channels_with_news(tx: Tx, *, limit: int, rested_since: datetime) -> list[str]:
    return await tx.column(Q["list_channels_with_news"], limit=limit, rested_since=rested_since)


async def tell_news(tx: Tx, channel_id: UUID, *, limit: int, now: datetime, push_at: datetime) -> Told:
    """Turn a channel's next news into notifications; addresses are due at `push_at`, if not before."""
    told = await tx.one(Told, Q["tell_news"], channel_id=channel_id, limit=limit, now=now, push_at=push_at)
    if told is None:
        raise RuntimeError("a count returned no row")
    return told
