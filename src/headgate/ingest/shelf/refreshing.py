"""Writes the rows of the library for what machines changed: downloads, pictures, labels, large groups.

One job for all of them: what many transactions change of the same thing is written once, and no transaction
waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.jobs.execution import REST
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.shelf import queue
from headgate.storage.shelf.queue import QueuedRows
from headgate.storage.shelf.touched import touch_groups, touch_items

KIND = "shelf"
ALL = "all"
BATCH = 200
"""Changes that one job takes; most are of one item."""
MAX_ITEMS = 1000
"""Items from which on a job leaves the rest to its successor."""


class QueuedRowsDue:
    """Rows that wait to be written, as the work of the kind `shelf`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await queue.list_due(tx, rested_since=now - REST)

    async def postpone(self, tx: Tx, key: str, *, until: datetime, now: datetime) -> None:
        """Nothing to do: `list_due` leaves the queue alone for a while after its dead letter."""

    async def reopen(self, tx: Tx, key: str, *, now: datetime) -> None:
        """Nothing to do: the queue still waits."""


@dataclass
class ShelfRefreshing:
    """Takes what waits, a batch at a time."""

    def kind(self) -> Kind[str]:
        return Kind(KIND, str, self.write, QueuedRowsDue())

    async def write(self, job: Job[str]) -> None:
        """Write the rows of the next batch; wake a successor if more is left."""
        async with job.finish() as tx:
            queued = await queue.list_queued(tx, limit=BATCH)
            taken: list[QueuedRows] = []
            items: set[UUID] = set()
            for rows in queued:
                taken.append(rows)
                items.update(rows.item_ids)
                if len(items) >= MAX_ITEMS:
                    break
            if not taken:
                return
            await queue.delete_queued(tx, taken)
            touch_items(tx, items)
            touch_groups(tx, {group_id for rows in taken for group_id in rows.group_ids})
            await publish(tx, Event("shelf"))
            if len(taken) < len(queued) or len(queued) == BATCH:
                await enqueue(tx, [Wake(KIND, ALL)])
