"""Downloads as people see them: what is running, what waits, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

COUNT_CAP = 10_001
MIN_SHOWN_BYTES = 1_000_000
"""Smaller files come faster than people read."""


@dataclass(frozen=True)
class RunningDownload:
    """A file that is being downloaded."""

    id: UUID
    item_id: UUID | None
    name: str
    size_bytes: int
    """0: unknown."""
    spooled_bytes: int
    """What had come when the download was last interrupted."""
    channel_id: UUID
    channel_title: str


@dataclass(frozen=True)
class WaitingDownloads:
    """What is still to come."""

    files: int
    size_bytes: int
    without_room: int
    """Files for which the disk has no room."""
    needs_bytes: int
    """What the largest of them needs."""


@dataclass(frozen=True)
class DownloadState:
    """How the download of one file stands."""

    id: UUID
    state: str
    wait_reason: str
    needs_bytes: int
    attempts: int
    error_message: str
    spooled_bytes: int
    running: bool


async def list_running(tx: Tx, *, channel_id: UUID | None, limit: int) -> list[RunningDownload]:
    """Return running downloads of a channel, or of all, the largest first; small ones are left out."""
    return await tx.all(
        RunningDownload, Q["list_running"], channel_id=channel_id, limit=limit, min_bytes=MIN_SHOWN_BYTES
    )


async def count_waiting(tx: Tx, *, channel_id: UUID | None) -> WaitingDownloads:
    """Count files of a channel, or of all, that are still to come; up to `COUNT_CAP`."""
    found = await tx.one(WaitingDownloads, Q["count_waiting"], channel_id=channel_id, cap=COUNT_CAP)
    return found or WaitingDownloads(0, 0, 0, 0)


async def list_states(tx: Tx, file_ids: Sequence[UUID]) -> dict[UUID, DownloadState]:
    """Return how the downloads of files stand, for those that are wanted or failed."""
    return {one.id: one for one in await tx.all(DownloadState, Q["list_states"], ids=list(file_ids))}
