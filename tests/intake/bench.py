"""A world, an account that follows its streams, and a hand that carries out what is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from headgate.app.parts import Parts
from headgate.intake.channels import follow_all
from headgate.intake.links import AccountRef
from headgate.intake.live import LiveIntake
from headgate.jobs.stepper import Stepper
from headgate.storage.database import Database, connect
from headgate.storage.queries import QueryFile
from headgate.testing import VirtualClock, World

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

Q = QueryFile(
    "intake tests",
    """
-- name: stream
select c.id, s.head, s.due_at, s.scanned_at, s.message_count, s.total_messages_scanned,
       v.ranges::text as ranges
from channel c join stream s on s.channel_id = c.id join coverage v on v.channel_id = c.id
where c.key = %(key)s

-- name: titles
select i.title from item i join channel c on c.id = i.channel_id where c.key = %(key)s order by i.title

-- name: sightings
select message_key || '/' || attachment_key from sighting order by 1

-- name: deleted
select message_key from sighting where deleted_at is not null order by 1

-- name: disable
update channel set message_scan_enabled = false where key = %(key)s

-- name: distrust
-- Whatever becomes an item is refused, so that ingesting fails for good.
alter table item add constraint refused check (title = '') not valid

-- name: trust
alter table item drop constraint refused

-- name: reset
update coverage set epoch = epoch + 1, ranges = '{}'
""",
)


@dataclass(frozen=True)
class StreamSeen:
    """What is known of a stream."""

    id: UUID
    head: int | None
    due_at: datetime | None
    scanned_at: datetime | None
    message_count: int
    total_messages_scanned: int
    ranges: str


@dataclass
class Bench:
    """The product around one database, in hand-moved time."""

    database: Database
    url: str
    clock: VirtualClock
    world: World
    parts: Parts
    claimer: Stepper | None = None

    async def follow(self) -> None:
        await follow_all(self.database, self.parts.links, self.parts.ids, self.clock, name="reader")

    async def stepper(self) -> Stepper:
        if self.claimer is None:
            connection = await connect(self.url)
            self.claimer = Stepper(self.parts.execution, connection, uuid4(), 60)
        return self.claimer

    async def work(self) -> int:
        """Tick and carry out jobs until none is left; returns how many there were."""
        stepper = await self.stepper()
        done = 0
        while True:
            await self.parts.tick().tick(self.clock.now())
            job = await stepper.claim()
            if job is None:
                return done
            _, settlement = await stepper.execute(job)
            await stepper.settle(job, settlement)
            done += 1

    async def account(self) -> AccountRef:
        async with self.database.transaction() as tx:
            rows = await tx.raw("select id from account where name = 'reader'")
        return AccountRef(rows[0]["id"], "simulated", "reader", established=True)

    async def live(self) -> LiveIntake:
        account = await self.account()
        return LiveIntake(account.id, self.database, self.clock, self.parts.ids)

    async def stream(self, key: str = "packs") -> StreamSeen:
        async with self.database.transaction() as tx:
            row = await tx.one(StreamSeen, Q["stream"], key=key)
        assert row is not None
        return row

    async def column(self, name: str, **parameters: str) -> list[str]:
        async with self.database.transaction() as tx:
            return await tx.column(Q[name], **parameters)

    async def change(self, name: str, **parameters: str) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(Q[name], **parameters)

    def places(self, stream: str = "packs") -> list[str]:
        """Return what the world holds, as the sightings should name it."""
        return sorted(
            f"{message.key}/{attachment.key}"
            for message in self.world.messages(stream)
            for attachment in message.attachments
        )
