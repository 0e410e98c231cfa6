"""Downloads, for people: what is running and what is still to come, of a channel or of all."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.library import downloads
from headgate.storage.library.downloads import RunningDownload, WaitingDownloads

MAX_SHOWN = 5


@dataclass(frozen=True)
class Downloads:
    """What is being downloaded, and what is still to come."""

    running: list[RunningDownload]
    waiting: WaitingDownloads
    """All that is wanted, what is running included."""


async def show_downloads(tx: Tx, channel_id: UUID | None = None) -> Downloads:
    """Return running and waiting downloads of a channel, or of all channels."""
    return Downloads(
        running=await downloads.list_running(tx, channel_id=channel_id, limit=MAX_SHOWN),
        waiting=await downloads.count_waiting(tx, channel_id=channel_id),
    )
