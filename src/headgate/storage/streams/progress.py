"""How much of streams has been read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.domain.streams.progress import Progress, ReadFacts, progress_of
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class _Row(ReadFacts):
    channel_id: UUID


async def list_progress(tx: Tx, channel_ids: Sequence[UUID]) -> dict[UUID, Progress]:
    """Return how much of each stream has been read; listings have no such thing."""
    if not channel_ids:
        return {}
    rows = await tx.all(_Row, Q["list_read_facts"], channel_ids=list(channel_ids))
    return {row.channel_id: progress_of(row) for row in rows}
