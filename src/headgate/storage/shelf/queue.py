"""Rows of the shelf that wait to be written anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class QueuedRows:
    """Items and groups that changed in one transaction."""

    id: int
    item_ids: list[UUID]
    group_ids: list[UUID]


async def list_due(tx: Tx, *, rested_since: datetime) -> list[str]:
    """Return the one key of the job, if anything waits."""
    return await tx.column(Q["has_queued"], rested_since=rested_since)


async def list_queued(tx: Tx, *, limit: int) -> list[QueuedRows]:
    return await tx.all(QueuedRows, Q["list_queued"], limit=limit)


async def delete_queued(tx: Tx, queued: Sequence[QueuedRows]) -> None:
    await tx.execute(Q["delete_queued"], ids=[rows.id for rows in queued])
