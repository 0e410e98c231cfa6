"""Labels items by the rules: new and changed messages first, then the rest of a channel that is swept.

A job reads a batch, finds labels in it outside of any transaction, and writes them with its end. What changes
meanwhile has a row of its own in the queue, or raises the sweep, so the batch after that sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.catalogue.labelling import find_in_items, read_texts
from headgate.domain.library.label_rules import LabelRule
from headgate.domain.library.labels import LabelTexts
from headgate.jobs.execution import REST
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.storage.database import Database, Tx
from headgate.storage.labels import labels, queue, rules
from headgate.storage.labels.queue import QueuedBatch, Sweep
from headgate.storage.search.queue import note_due

KIND = "label"
BATCH = 500
PRIORITY = -1
"""Whatever else is due goes first; what waits long ages."""
CONCURRENCY = 2


class UnlabelledRows:
    """Channels with something to label, as the work of the kind `label`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await queue.list_unlabelled(tx, limit=limit, rested_since=now - REST)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        """Nothing to do: `list_due` leaves the channel alone for a while after its dead letter."""

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        """Nothing to do: what is to be labelled still waits."""


@dataclass(frozen=True)
class Batch:
    """What one job labels, and under which rules."""

    texts: dict[UUID, LabelTexts]
    rules: tuple[LabelRule, ...]
    rules_version: int
    queued: list[QueuedBatch]
    sweep: Sweep | None = None
    """Set where the batch is part of a sweep, and not of the queue."""
    swept_to: str | None = None
    """Where the sweep goes on; None: nothing is left of it."""


@dataclass
class Labelling:
    """Labels items, a batch at a time."""

    clock: Clock

    def kind(self) -> Kind[UUID]:
        rows = UnlabelledRows()
        return Kind(KIND, UUID, self.label, rows, priority=PRIORITY, concurrency=CONCURRENCY)

    async def label(self, job: Job[UUID]) -> None:
        """Label the next batch of a channel; wake a successor if more is left."""
        batch = await read_batch(job.database, job.key)
        found = await find_in_items(batch.texts, batch.rules, clock=self.clock)
        async with job.finish() as tx:
            await _advance(tx, job.key, batch)
            item_ids = await labels.hold_items(tx, list(batch.texts))
            used = [(item_id, label) for item_id in item_ids for label in found[item_id] if label.used]
            await labels.write_found(tx, item_ids, used, rules_version=batch.rules_version)
            if batch.queued:
                # Their captions may have changed, whatever the rules read in them.
                await note_due(tx, item_ids, ())
            if await queue.has_more(tx, job.key):
                await enqueue(tx, [Wake(KIND, str(job.key), PRIORITY)])


async def read_batch(database: Database, channel_id: UUID) -> Batch:
    """Return what to label next in a channel; nothing is taken."""
    async with database.transaction() as tx:
        # Work before rules: a rule that changes in between restarts the sweep, and this batch does not count.
        queued = await queue.peek_queue(tx, channel_id, limit=BATCH)
        sweep = None if queued else await queue.get_sweep(tx, channel_id)
        version = await rules.get_version(tx)
        current = tuple(stored.rule for stored in await rules.list_rules(tx))
        swept_to: str | None = None
        item_ids: list[UUID] = []
        if queued:
            item_ids = await queue.find_items(tx, channel_id, queued)
        elif sweep is not None:
            swept = await queue.list_swept(tx, channel_id, after=sweep.after, limit=BATCH)
            item_ids = [item.id for item in swept]
            swept_to = swept[-1].content_key if len(swept) == BATCH else None
        return Batch(await read_texts(tx, item_ids), current, version, queued, sweep, swept_to)


async def _advance(tx: Tx, channel_id: UUID, batch: Batch) -> None:
    """Take what is labelled off the list."""
    if batch.queued:
        await queue.empty_queue(tx, channel_id, batch.queued)
    elif batch.sweep is not None and batch.swept_to is not None:
        await queue.advance_sweep(tx, channel_id, batch.sweep, after=batch.swept_to)
    elif batch.sweep is not None:
        await queue.end_sweep(tx, channel_id, batch.sweep)
