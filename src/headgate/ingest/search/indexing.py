"""The job that writes the index of search, a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headgate.catalogue.search.indexing import read_batch, settle_words, write_batch
from headgate.jobs.execution import REST
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.storage.database import Tx
from headgate.storage.jobs import engine
from headgate.storage.search import queue

KIND = "search"
KEY = "index"
PRIORITY = -1
"""Whatever else is due goes first; what waits long ages."""


class UnindexedRows:
    """What is to be indexed, as the work of the kind `search`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await queue.list_due(tx, rested_since=now - REST)

    async def postpone(self, tx: Tx, key: str, *, until: datetime, now: datetime) -> None:
        """Nothing to do: `list_due` leaves the index alone for a while after its dead letter."""

    async def reopen(self, tx: Tx, key: str, *, now: datetime) -> None:
        """Nothing to do: what is to be indexed still waits."""


@dataclass
class Indexing:
    """Indexes items and groups."""

    clock: Clock

    def kind(self) -> Kind[str]:
        return Kind(KIND, str, self.index, UnindexedRows(), priority=PRIORITY, concurrency=1)

    async def index(self, job: Job[str]) -> None:
        """Index the next batch; wake a successor if more is left.

        While more urgent jobs wait, the next tick wakes it instead.
        """
        batch = await read_batch(job.database, clock=self.clock)
        async with job.finish() as tx:
            if batch is None:
                await settle_words(tx)
            else:
                await write_batch(tx, batch)
            if await queue.has_due(tx) and not await engine.has_waiting(tx, priority=PRIORITY + 1):
                await enqueue(tx, [Wake(KIND, KEY, PRIORITY)])
