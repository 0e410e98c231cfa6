"""Labels items by the rules: new and changed messages first, then the rest of a channel that is swept.

A job reads a batch, finds labels in it outside of any transaction, and writes them with its end. What changes
meanwhile has a row of its own in the queue, or raises the sweep, so the batch after that sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.catalogue.labelling import find_in_items, read_texts
from headgate.domain.library.label_rules import LabelRule
from headgate.domain.library.labels import LabelTexts
from headgate.jobs.execution import REST
from headgate.jobs.job import Job, finish_together
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.storage.database import Database, Tx
from headgate.storage.gathering import Gatherer
from headgate.storage.labels import labels, queue, rules
from headgate.storage.labels.queue import QueuedBatch, Sweep
from headgate.storage.search.queue import note_due

KIND = "label"
BATCH = 500
PRIORITY = -1
"""Whatever else is due goes first; what waits long ages."""
CONCURRENCY = 8
"""Jobs at once, which share their statements: a thousand feeds that answer together bring few items each."""


class UnlabelledRows:
    """Channels with something to label, as the work of the kind `label`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await queue.list_unlabelled(tx, limit=limit, rested_since=now - REST)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        """Nothing to do: `list_due` leaves the channel alone for a while after its dead letter."""

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        """Nothing to do: what is to be labelled still waits."""


@dataclass(frozen=True)
class SweepStep:
    """The next step of a sweep."""

    sweep: Sweep
    item_ids: list[UUID]
    swept_to: str | None
    """Where it goes on; None: nothing is left of it."""


@dataclass(frozen=True)
class LabelBatch:
    """What jobs that run together label, and under which rules."""

    texts: dict[UUID, LabelTexts]
    rules: tuple[LabelRule, ...]
    rules_version: int
    queued: list[QueuedBatch]
    sweeps: list[SweepStep]
    """Of channels that have nothing in the queue."""


@dataclass
class Labelling:
    """Labels items, a batch at a time; the jobs of several channels share a batch."""

    clock: Clock

    def __post_init__(self) -> None:
        self._together = Gatherer(self._label, at_once=1)

    def kind(self) -> Kind[UUID]:
        rows = UnlabelledRows()
        return Kind(KIND, UUID, self.label, rows, priority=PRIORITY, concurrency=CONCURRENCY)

    async def label(self, job: Job[UUID]) -> None:
        """Label the next items of a channel; wake a successor if more is left."""
        await self._together.ask(job)

    async def _label(self, jobs: Sequence[Job[UUID]]) -> list[None]:
        channel_ids = sorted(job.key for job in jobs)
        batch = await read_batch(jobs[0].database, channel_ids)
        found = await find_in_items(batch.texts, batch.rules, clock=self.clock)
        async with finish_together(jobs) as tx:
            await _advance(tx, batch)
            item_ids = await labels.hold_items(tx, list(batch.texts))
            used = [(item_id, label) for item_id in item_ids for label in found[item_id] if label.used]
            await labels.write_found(tx, item_ids, used, rules_version=batch.rules_version)
            if batch.queued:
                # Their captions may have changed, whatever the rules read in them.
                await note_due(tx, item_ids, ())
            more = await queue.list_more(tx, channel_ids)
            await enqueue(tx, [Wake(KIND, str(channel_id), PRIORITY) for channel_id in more])
        return [None] * len(jobs)


async def read_batch(database: Database, channel_ids: Sequence[UUID]) -> LabelBatch:
    """Return what to label next in channels, a share of the batch each; nothing is taken."""
    share = BATCH // len(channel_ids)
    async with database.autocommit() as tx:
        # Work before rules: a rule that changes in between restarts the sweep, and this batch does not count.
        queued = await queue.peek_queue(tx, channel_ids, limit=share)
        sweeps = await _read_sweeps(tx, channel_ids, queued, limit=share)
        version = await rules.get_version(tx)
        current = tuple(stored.rule for stored in await rules.list_rules(tx))
        item_ids = {item_id for step in sweeps for item_id in step.item_ids}
        if queued:
            item_ids.update(await queue.find_items(tx, queued))
        return LabelBatch(await read_texts(tx, sorted(item_ids)), current, version, queued, sweeps)


async def _read_sweeps(
    tx: Tx, channel_ids: Sequence[UUID], queued: Sequence[QueuedBatch], *, limit: int
) -> list[SweepStep]:
    """Return the next steps of sweeps; what is in the queue of a channel goes first."""
    idle = sorted({*channel_ids} - {batch.channel_id for batch in queued})
    steps: list[SweepStep] = []
    for sweep in await queue.list_sweeps(tx, idle) if idle else []:
        swept = await queue.list_swept(tx, sweep, limit=limit)
        swept_to = swept[-1].content_key if len(swept) == limit else None
        steps.append(SweepStep(sweep, [item.id for item in swept], swept_to))
    return steps


async def _advance(tx: Tx, batch: LabelBatch) -> None:
    """Take what is labelled off the list."""
    if batch.queued:
        await queue.empty_queue(tx, batch.queued)
    for step in batch.sweeps:
        if step.swept_to is not None:
            await queue.advance_sweep(tx, step.sweep, after=step.swept_to)
        else:
            await queue.end_sweep(tx, step.sweep)
