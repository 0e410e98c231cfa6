"""Channels whose messages are taken in by hand, and the job that labels what is in them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from headgate.catalogue import label_rules, labels
from headgate.catalogue.labels import LabelChange
from headgate.domain.library.item_labels import ItemLabels
from headgate.domain.streams.messages import Attachment, Message
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.ingest.labels.labelling import Labelling
from headgate.intake.channels.rules import RulesCache
from headgate.intake.streams.accept import accept_messages
from headgate.intake.streams.assemble import Assembler
from headgate.intake.streams.ingest import Ingest
from headgate.jobs.execution import Execution
from headgate.jobs.job import Settlement
from headgate.jobs.kinds import Kinds
from headgate.jobs.stepper import ClaimedJob, Stepper
from headgate.jobs.tick import Tick
from headgate.kernel.clock import VirtualClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Database, connect
from headgate.storage.queries import QueryFile

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

Q = QueryFile(
    "tests of labels",
    """
-- name: channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, 'simulated', %(key)s, 'stream', %(key)s, %(now)s)

-- name: stream
insert into stream (channel_id) values (%(id)s)

-- name: item_of
select item_id from sighting where channel_id = %(channel_id)s and message_key = %(key)s

-- name: title_topic
update topic set title = %(title)s where channel_id = %(channel_id)s and key = %(key)s

-- name: files_of
select id from sighting where item_id = %(item_id)s order by position

-- name: those_who_wait
select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'

-- name: remove_item
delete from item where id = %(id)s

-- name: count_waiting
select (select count(*) from label_queue) + (select count(*) from label_sweep)

-- name: count_queued
select count(*) from label_queue

-- name: versions
select rules_version from labelled_item order by 1

-- name: everything
select item_id, kind, source, key, name, rule, removed from item_label order by 1, 2, 3, 4

-- name: refuse_items
alter table item add constraint refused check (false) not valid

-- name: permit_items
alter table item drop constraint refused

-- name: lose_jobs
update pgqueuer set queue_manager_id = gen_random_uuid()
""",
)


def message(
    number: int, text: str = "", file: str = "", *, topic: str = "", album: str = "", edited: int = 0
) -> Message:
    """Return message `number` with one file of its own."""
    at = START + timedelta(minutes=number)
    return Message(
        position=number,
        key=str(number),
        sent_at=at,
        text=text,
        topic=topic,
        album=album,
        edited_at=at + timedelta(seconds=edited) if edited else None,
        attachments=(Attachment("a", file or f"file{number}.zip", 10, "application/zip", f"c{number}"),),
    )


class MeanwhileClock(VirtualClock):
    """A clock that lets something happen once, between the reading and the writing of a batch."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def sleep(self, real_s: float) -> None:
        happen, self.meanwhile = self.meanwhile, None
        if happen is not None:
            await happen()
        await super().sleep(real_s)


@dataclass
class LabelBench:
    """A library whose labels are made by the real job, in hand-moved time."""

    database: Database
    url: str
    clock: MeanwhileClock = field(default_factory=lambda: MeanwhileClock(START + timedelta(days=1)))
    channel_id: UUID = field(default_factory=uuid4)
    _stepper: Stepper | None = None

    def __post_init__(self) -> None:
        self.ids = Ids(self.clock, Randomness(1))
        self.rules = RulesCache(IntakeKnobs(), self.clock)
        assembler = Assembler(self.rules, self.clock, self.ids)
        self.kinds = Kinds(
            [Labelling(self.clock).kind(), Ingest(self.clock, self.ids, self.rules).kind(), assembler.kind()]
        )

    async def add_channel(self, key: str, channel_id: UUID | None = None) -> UUID:
        channel_id = channel_id or uuid4()
        async with self.database.transaction() as tx:
            await tx.execute(Q["channel"], id=channel_id, key=key, now=START)
            await tx.execute(Q["stream"], id=channel_id)
        return channel_id

    async def accept(self, *messages: Message, channel_id: UUID | None = None) -> None:
        channel = channel_id or self.channel_id
        async with self.database.transaction() as tx:
            rules = await self.rules.get(tx, channel)
            now = self.clock.now()
            await accept_messages(tx, channel, messages, rules=rules, ids=self.ids, now=now)

    async def stepper(self) -> Stepper:
        if self._stepper is None:
            self._stepper = Stepper(self.execution(), await connect(self.url), uuid4(), 60)
        return self._stepper

    def execution(self) -> Execution:
        return Execution(
            kinds=self.kinds,
            database=self.database,
            clock=self.clock,
            randomness=Randomness(2),
            ids=self.ids,
        )

    async def tick(self) -> None:
        tick = Tick(kinds=self.kinds, database=self.database, clock=self.clock, ids=self.ids)
        await tick.tick(self.clock.now())

    async def work(self) -> int:
        """Tick and carry out jobs until none is left; returns how many there were."""
        stepper, done = await self.stepper(), 0
        while True:
            await self.tick()
            before = done
            while (job := await stepper.claim()) is not None:
                _, settlement = await stepper.execute(job)
                await stepper.settle(job, settlement)
                done += 1
            if done == before:
                return done

    async def claim(self) -> ClaimedJob:
        """Claim the next job after a tick."""
        await self.tick()
        job = await (await self.stepper()).claim()
        assert job is not None
        return job

    async def execute(self, job: ClaimedJob) -> Settlement:
        stepper = await self.stepper()
        _, settlement = await stepper.execute(job)
        await stepper.settle(job, settlement)
        return settlement

    async def item_of(self, key: int, channel_id: UUID | None = None) -> UUID:
        return await self.value("item_of", channel_id=channel_id or self.channel_id, key=str(key))

    async def labels_of(self, key: int, channel_id: UUID | None = None) -> ItemLabels:
        item_id = await self.item_of(key, channel_id)
        async with self.database.transaction() as tx:
            return await labels.show_labels(tx, item_id)

    async def creator(self, key: int) -> str:
        return (await self.labels_of(key)).creator_name

    async def tags(self, key: int) -> tuple[str, ...]:
        return (await self.labels_of(key)).tag_names

    async def say(self, *keys: int, **change: Any) -> None:
        """Let a person say something of the items of messages."""
        self.clock.advance(1)
        item_ids = [await self.item_of(key) for key in keys]
        async with self.database.transaction() as tx:
            await labels.change_labels(tx, item_ids, LabelChange(**change), now=self.clock.now())

    async def rule(self, name: str) -> UUID:
        async with self.database.transaction() as tx:
            rules = (await label_rules.list_rules(tx)).rules
        return next(rule.id for rule in rules if rule.name == name)

    async def add_rule(self, position: int | None = None, **typed: Any) -> UUID:
        rule = label_rules.read_rule(typed)
        async with self.database.transaction() as tx:
            return (await label_rules.add_rule(tx, rule, position=position, ids=self.ids)).id

    async def edit_rule(self, rule: str, /, *, position: int | None = None, **typed: Any) -> None:
        rule_id = await self.rule(rule)
        async with self.database.transaction() as tx:
            await label_rules.edit_rule(tx, rule_id, typed, position=position)

    async def remove_rule(self, name: str) -> None:
        rule_id = await self.rule(name)
        async with self.database.transaction() as tx:
            await label_rules.remove_rule(tx, rule_id)

    async def value(self, query: str, **parameters: Any) -> Any:
        async with self.database.transaction() as tx:
            return await tx.value(Q[query], **parameters)

    async def column(self, query: str, **parameters: Any) -> list[Any]:
        async with self.database.transaction() as tx:
            return await tx.column(Q[query], **parameters)

    async def change(self, query: str, **parameters: Any) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(Q[query], **parameters)

    async def wait_for_waiting(self) -> None:
        """Return once a transaction waits for another."""
        async with self.database.autocommit() as tx:
            while not await tx.value(Q["those_who_wait"]):
                continue

    async def everything(self) -> list[tuple[Any, ...]]:
        """Return all stored labels, so that two states can be compared."""
        async with self.database.transaction() as tx:
            return [tuple(row.values()) for row in await tx.raw(Q["everything"].sql)]

    async def close(self) -> None:
        if self._stepper is not None:
            await self._stepper.connection.close()


@asynccontextmanager
async def open_bench(database: Database, url: str) -> AsyncGenerator[LabelBench, None]:
    bench = LabelBench(database, url)
    await bench.add_channel("packs", bench.channel_id)
    try:
        yield bench
    finally:
        await bench.close()
