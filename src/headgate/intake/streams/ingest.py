"""Makes items of the sightings that had to wait: a batch at a time, together with the job's completion.

A sighting of which no item can be made becomes a miss, and does not hold up the others of its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.catalogue.making import Made, key_of, make_items
from headgate.domain.errors import error_class
from headgate.domain.streams.misses import MISS_CAP
from headgate.domain.streams.rules import ChannelRules
from headgate.intake.channels.rules import RulesCache
from headgate.intake.fetching.wishes import wish_files
from headgate.jobs.execution import REST
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.storage.catalogue import sightings
from headgate.storage.catalogue.sightings import WaitingSighting
from headgate.storage.channels.judging import show_items
from headgate.storage.database import Tx
from headgate.storage.errors import Refused
from headgate.storage.events import Event, publish
from headgate.storage.labels.queue import note_unlabelled
from headgate.storage.listings.news import NOTIFY
from headgate.storage.streams import misses
from headgate.storage.streams.misses import Failure

KIND = "ingest"
BATCH = 500
NOTHING = Made()


class WaitingRows:
    """Channels with sightings that are not items yet, as the work of the kind `ingest`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await sightings.list_waiting_channels(tx, limit=limit, rested_since=now - REST)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        """Nothing to do: `list_due` leaves the channel alone for a while after its dead letter."""

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        """Nothing to do: the sightings still wait."""


@dataclass(frozen=True)
class Ingested:
    """What came of some sightings."""

    linked: tuple[WaitingSighting, ...] = ()
    made: Made = NOTHING
    failures: tuple[Failure, ...] = ()

    def __add__(self, other: Ingested) -> Ingested:
        return Ingested(self.linked + other.linked, self.made + other.made, self.failures + other.failures)


@dataclass
class Ingest:
    """Turns kept sightings into items."""

    clock: Clock
    ids: Ids
    rules: RulesCache
    miss_cap: int = MISS_CAP

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.ingest, rows=WaitingRows())

    async def ingest(self, job: Job[UUID]) -> None:
        """Make items of the next batch of sightings; wake a successor if more are waiting."""
        async with job.finish() as tx:
            rules = await self.rules.get(tx, job.key)
            waiting = await sightings.take_waiting(tx, job.key, limit=BATCH)
            if not waiting:
                return
            # Make halves in the order of their items, as accepting messages does.
            outcome = await self._make(tx, job.key, sorted(waiting, key=key_of))
            await self._settle(tx, job.key, outcome, rules)
            if len(waiting) == BATCH:
                await enqueue(tx, [Wake(KIND, str(job.key))])

    async def _make(self, tx: Tx, channel_id: UUID, waiting: Sequence[WaitingSighting]) -> Ingested:
        """Make items of all; if the database refuses, of each half, down to the row that is to blame."""
        try:
            async with tx.attempt():
                made = await make_items(tx, channel_id, waiting, ids=self.ids, now=self.clock.now())
        except Refused as error:
            if len(waiting) == 1:
                return Ingested(failures=(_failure(waiting[0], error),))
            middle = len(waiting) // 2
            first = await self._make(tx, channel_id, waiting[:middle])
            return first + await self._make(tx, channel_id, waiting[middle:])
        return Ingested(tuple(waiting), made)

    async def _settle(self, tx: Tx, channel_id: UUID, outcome: Ingested, rules: ChannelRules) -> None:
        """Give sightings their items, write down what failed, and forget the misses of what did not."""
        linked, made = outcome.linked, outcome.made
        await sightings.link_items(tx, sighting_ids=[each.id for each in linked], item_ids=made.item_ids)
        await note_unlabelled(tx, channel_id, message_keys=[each.message_key for each in linked])
        await misses.resolve(
            tx,
            channel_id,
            message_keys=[each.message_key for each in linked],
            attachment_keys=[each.attachment_key for each in linked],
        )
        await misses.note_failed_sightings(
            tx, channel_id, outcome.failures, ids=self.ids, now=self.clock.now(), cap=self.miss_cap
        )
        shown = await show_items(tx, sorted(set(made.known_ids)))
        await wish_files(tx, channel_id, rules, [each.id for each in linked], now=self.clock.now())
        if made.new_items or shown:
            await publish(tx, Event("items"))
        if made.news:
            await enqueue(tx, [Wake(NOTIFY, str(channel_id))])


def _failure(sighting: WaitingSighting, error: Refused) -> Failure:
    return Failure(sighting.message_key, sighting.attachment_key, error_class(error), str(error))
