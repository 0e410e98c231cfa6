"""Channels as people see them: how far they were read, and when they are read again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries("channel_overview")


@dataclass(frozen=True)
class ChannelLine:
    """One channel; what only streams have is empty for a listing."""

    id: UUID
    platform: str
    kind: Literal["stream", "listing"]
    title: str
    floor: int | None
    head: int | None
    due_at: datetime | None
    scanned_at: datetime | None
    message_count: int
    messages_scanned: int
    covered_share: float | None
    """From 0 to 1, of the positions between floor and head; None while no head is known."""


@dataclass(frozen=True)
class ChannelPlace:
    """A place in the order of channels."""

    title: str
    id: UUID


FIRST = ChannelPlace("", UUID(int=0))


async def list_channels(tx: Tx, *, after: ChannelPlace, limit: int) -> list[ChannelLine]:
    return await tx.all(ChannelLine, Q["list_channels"], limit=limit, **vars(after))
