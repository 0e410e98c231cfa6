"""Makes items of kept sightings: one set of statements a batch, together with the job's completion."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.items import content_key, item_kind, item_title
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.storage import sightings
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.sightings import NewItem, WaitingSighting

KIND = "ingest"
BATCH = 500


class WaitingRows:
    """Channels with sightings that are not items yet, as the work of the kind `ingest`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await sightings.list_waiting_channels(tx, limit=limit)

    async def park(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        """Nothing to do: the dead letter itself keeps the channel out of the schedule."""

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        """Nothing to do: the sightings still wait."""


@dataclass
class Ingest:
    """Turns kept sightings into items."""

    clock: Clock
    ids: Ids

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.ingest, rows=WaitingRows())

    async def ingest(self, job: Job[UUID]) -> None:
        """Make items of the next batch of sightings; wake a successor if more are waiting."""
        async with job.finish() as tx:
            waiting = await sightings.take_waiting(tx, job.key, limit=BATCH)
            items = [self._item(sighting) for sighting in waiting]
            if await sightings.insert_items(tx, job.key, items, now=self.clock.now()):
                await publish(tx, Event("items"))
            if len(waiting) == BATCH:
                await enqueue(tx, [Wake(KIND, str(job.key))])

    def _item(self, sighting: WaitingSighting) -> NewItem:
        return NewItem(
            id=self.ids.new(),
            sighting_id=sighting.id,
            content_key=content_key(
                message_key=sighting.message_key,
                attachment_key=sighting.attachment_key,
                content_id=sighting.content_id,
            ),
            kind=item_kind(file_name=sighting.file_name, mime_type=sighting.mime_type),
            title=item_title(sighting.file_name),
            size_bytes=sighting.size_bytes,
            sent_at=sighting.sent_at,
        )
