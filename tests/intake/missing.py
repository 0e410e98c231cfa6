"""A stream whose messages are taken in by hand, and all that tries single messages again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID, uuid4

from headgate.domain.streams.messages import Message
from headgate.domain.streams.misses import MISS_CAP, PAUSES_S
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.intake.channels.rules import RulesCache
from headgate.intake.streams.accept import accept_messages
from headgate.intake.streams.assemble import Assembler
from headgate.intake.streams.ingest import Ingest
from headgate.intake.streams.misses import MissRetries, retry_misses
from headgate.intake.streams.rechecks import Rechecks
from headgate.intake.streams.refetch import SingleMessages
from headgate.jobs.execution import Execution
from headgate.jobs.kinds import Kinds
from headgate.jobs.stepper import Stepper
from headgate.jobs.tick import Tick
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes import Lanes
from headgate.lanes.links import Links
from headgate.storage.database import Database, Tx, connect
from headgate.storage.jobs.dead_letters import DeadLetter, list_dead_letters
from headgate.storage.queries import QueryFile
from headgate.storage.streams.misses import MissSeen, list_misses
from headgate.storage.vault import Vault
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World, file_of

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
STREAM = "packs"

Q = QueryFile(
    "tests of single messages",
    """
-- name: account
insert into account (id, platform, name, established, created_at)
values (%(id)s, 'simulated', 'reader', true, %(now)s)

-- name: channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, 'simulated', %(key)s, 'stream', %(key)s, %(now)s)

-- name: stream
insert into stream (channel_id, reader_id) values (%(id)s, %(reader_id)s)

-- name: titles
select title from item order by title

-- name: sightings
select message_key || '/' || attachment_key from sighting order by 1

-- name: deleted
select message_key from sighting where deleted_at is not null order by 1

-- name: missed
select file_name from sighting where missed order by 1

-- name: accounts
select state from account

-- name: rechecks
select message_key from recheck order by 1

-- name: switch_off
update channel set message_scan_enabled = false

-- name: reject
update sighting set verdict = 'too_large'

-- name: give_up
update miss set state = 'abandoned', due_at = null

-- name: hold_item
insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
select gen_random_uuid(), id, 'content:zz', 'file', 'held', 1, created_at, created_at from channel

-- name: those_who_wait
select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'

-- name: refuse
alter table item add constraint refused check (title not like 'bad%%') not valid

-- name: refuse_all
alter table item add constraint refused check (false) not valid

-- name: hide
update item set hidden = true

-- name: shown
select title from item where not hidden order by title

-- name: locks_of_items
select xmax::text from item order by id

-- name: permit
alter table item drop constraint refused
""",
)


@dataclass
class Missing:
    """One followed stream, in hand-moved time, without anything that reads streams."""

    database: Database
    url: str
    clock: VirtualClock
    world: World
    ids: Ids
    links: Links
    rules: RulesCache
    kinds: Kinds
    channel_id: UUID = field(default_factory=uuid4)
    _claimer: Stepper | None = None

    async def follow(self) -> None:
        async with self.database.transaction() as tx:
            account_id = self.ids.new()
            await tx.execute(Q["account"], id=account_id, now=START)
            await tx.execute(Q["channel"], id=self.channel_id, key=STREAM, now=START)
            await tx.execute(Q["stream"], id=self.channel_id, reader_id=account_id)

    async def accept(self, *messages: Message, unreadable: Sequence[str] = ()) -> None:
        async with self.database.transaction() as tx:
            await accept_messages(
                tx,
                self.channel_id,
                messages,
                rules=await self.rules.get(tx, self.channel_id),
                ids=self.ids,
                now=self.clock.now(),
                unreadable=unreadable,
            )

    async def accept_waiting(self, *messages: Message) -> None:
        """Take messages in at a time when no item can be made, so that they are left to ingesting."""
        await self.change("refuse_all")
        await self.accept(*messages)
        await self.change("permit")

    async def stepper(self) -> Stepper:
        if self._claimer is None:
            execution = Execution(
                kinds=self.kinds,
                database=self.database,
                clock=self.clock,
                randomness=Randomness(2),
                ids=self.ids,
            )
            self._claimer = Stepper(execution, await connect(self.url), uuid4(), 60)
        return self._claimer

    async def tick(self) -> None:
        tick = Tick(kinds=self.kinds, database=self.database, clock=self.clock, ids=self.ids)
        await tick.tick(self.clock.now())

    async def carry_out(self) -> int:
        """Carry out what is enqueued, without a tick; returns how many jobs there were."""
        stepper = await self.stepper()
        done = 0
        while (job := await stepper.claim()) is not None:
            _, settlement = await stepper.execute(job)
            await stepper.settle(job, settlement)
            done += 1
        return done

    async def work(self) -> int:
        """Tick and carry out jobs until none is left; returns how many there were."""
        done = 0
        while True:
            await self.tick()
            carried_out = await self.carry_out()
            if not carried_out:
                return done
            done += carried_out

    async def close(self) -> None:
        if self._claimer is not None:
            await self._claimer.connection.close()
        await self.links.close()

    async def misses(self) -> list[MissSeen]:
        async with self.database.transaction() as tx:
            return await list_misses(tx)

    async def letters(self) -> list[DeadLetter]:
        async with self.database.transaction() as tx:
            return await list_dead_letters(tx)

    async def column(self, name: str) -> list[str]:
        async with self.database.transaction() as tx:
            return await tx.column(Q[name])

    async def change(self, name: str) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(Q[name])

    async def wait_for_waiting(self, many: int) -> None:
        """Return once so many transactions wait for others."""
        async with self.database.autocommit() as tx:
            while await tx.value(Q["those_who_wait"]) < many:
                continue

    def calls(self, kind: str) -> int:
        return self.world.log.counts[kind]


class NoSecrets:
    """Stands for the secrets of accounts: the simulated platform wants none."""

    async def secrets_of(self, account_id: UUID) -> dict[str, str]:
        return {}

    async def vault(self, tx: Tx) -> Vault:
        raise AssertionError("nothing is sealed here")


def build_missing(database: Database, url: str) -> Missing:
    """Put everything together around one database."""
    profile = PRESETS["telegram_like"]
    lanes = {kind: type(lane)(per_minute=1_000_000, burst=100_000) for kind, lane in profile.lanes.items()}
    clock = VirtualClock(START)
    world = World(1, clock, profile.but(lanes=lanes))
    world.add_account("reader")
    world.add_stream(STREAM)
    ids = Ids(clock, Randomness(1))
    links = Links({"simulated": SimulatedConnector(world)}, Lanes(database, clock), NoSecrets())
    rules = RulesCache(IntakeKnobs(), clock)
    messages = SingleMessages(links, rules, clock, ids)
    kinds = Kinds(
        [
            MissRetries(messages).kind(),
            Rechecks(messages).kind(),
            Ingest(clock, ids, rules).kind(),
            Assembler(rules, clock, ids).kind(),
        ]
    )
    return Missing(database, url, clock, world, ids, links, rules, kinds)


def post(missing: Missing, name: str) -> Message:
    return missing.world.post(STREAM, files=[file_of(f"{name}.zip", name.encode())])


async def retry_all(missing: Missing) -> int:
    async with missing.database.transaction() as tx:
        return len((await retry_misses(tx, now=missing.clock.now())).ids)


async def fail_until_abandoned(missing: Missing) -> None:
    for pause_s in PAUSES_S[: MISS_CAP - 1]:
        missing.clock.advance(pause_s)
        await missing.work()
