"""Channels as people see them: how far they were read, and when they are read again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from headgate.domain.streams.progress import Progress
from headgate.kernel.masking import mask_addresses
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.streams.scans import list_progress

Q = load_queries(__name__)


@dataclass(frozen=True)
class ChannelLine:
    """One channel; what only streams have is empty for a listing."""

    id: UUID
    platform: str
    kind: Literal["stream", "listing"]
    key: str
    title: str
    floor: int | None
    head: int | None
    due_at: datetime | None
    scanned_at: datetime | None
    gone_at: datetime | None
    """Since when its account does not see it any more."""
    enabled: bool
    parent_title: str
    tier: str
    reader: str
    scanning: bool
    message_count: int
    progress: Progress | None = None
    """How much of it was read; empty for a listing."""


@dataclass(frozen=True)
class NamedChannel:
    """A channel that a person named."""

    id: UUID
    platform: str
    key: str
    scope: str
    kind: Literal["stream", "listing", "parent"]
    title: str
    message_scan_enabled: bool
    parent_id: UUID | None
    parent_title: str
    parent_off: str
    """Title of what is off above it, the nearest; empty if all is on."""
    settings: dict[str, Any]


@dataclass(frozen=True)
class ChannelCursor:
    """A place in the order of channels."""

    title: str
    id: UUID


FIRST = ChannelCursor("", UUID(int=0))


async def list_channels(tx: Tx, *, after: ChannelCursor, limit: int) -> list[ChannelLine]:
    lines = await tx.all(ChannelLine, Q["list_channels"], limit=limit, **vars(after))
    progress = await list_progress(tx, [line.id for line in lines])
    return [replace(line, progress=progress.get(line.id)) for line in lines]


async def find_channels(tx: Tx, reference: str) -> list[NamedChannel]:
    """Return the channels that an id, a key or a title names; an address may hold its secrets."""
    return await tx.all(
        NamedChannel, Q["find_channels"], reference=reference, shown=mask_addresses(reference)
    )


async def list_names(tx: Tx) -> list[str]:
    """Return titles and keys, to guess what a person meant."""
    return await tx.column(Q["list_names"])
