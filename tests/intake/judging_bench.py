"""Channels with sightings that were put there by hand, and a hand that judges them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from headgate.domain.streams.filters import Candidate
from headgate.domain.streams.messages import Lens
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.intake.channels.judging import Judge
from headgate.intake.channels.rules import RulesCache
from headgate.jobs.execution import Execution
from headgate.jobs.kinds import Kinds
from headgate.jobs.stepper import Stepper
from headgate.jobs.tick import Tick
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.channels import intake_settings
from headgate.storage.database import Connection, Database, Tx, connect
from headgate.storage.queries import QueryFile
from headgate.testing import VirtualClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFFERED: tuple[Lens, ...] = ("documents", "photos", "everything")

Q = QueryFile(
    "judging tests",
    """
-- name: add_channel
with added as (
    insert into channel (id, platform, key, kind, title, parent_id, created_at)
    values (%(id)s, 'simulated', %(id)s::text, %(kind)s, 'A channel', %(parent)s, %(now)s) returning id
)
insert into stream (channel_id, lenses, due_at)
select id, %(lenses)s, %(due_at)s from added where %(kind)s = 'stream'

-- name: add_topic
insert into topic (channel_id, key, title, created_at) values (%(channel_id)s, %(key)s, 'A topic', %(now)s)

-- name: add_sightings
with n as materialized (
    select * from jsonb_to_recordset(%(rows)s::jsonb) as n (id uuid, message_key text, attachment_key text,
        topic text, author text, from_bot boolean, url text, file_name text, size_bytes bigint,
        mime_type text, verdict text, settings_hash text)
), said as (
    insert into message (channel_id, key, position, topic, author, from_bot, sent_at, version_at, seen_at)
    select distinct on (message_key) %(channel_id)s::uuid, message_key, 1, topic, author, from_bot,
        %(now)s::timestamptz, %(now)s::timestamptz, %(now)s::timestamptz
    from n on conflict do nothing
), seen as (
    insert into sighting (id, channel_id, message_key, attachment_key, position, topic, url, file_name,
        size_bytes, mime_type, sent_at, version_at, seen_at, verdict, settings_hash)
    select id, %(channel_id)s, message_key, attachment_key, 1, topic, url, file_name, size_bytes, mime_type,
        %(now)s, %(now)s, %(now)s, verdict, settings_hash from n
)
select 1

-- name: count_kept
update stream set message_count = (
    select count(distinct message_key) from sighting where channel_id = %(channel_id)s and verdict = 'kept')
where channel_id = %(channel_id)s

-- name: make_items
with made as (
    insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
    select gen_random_uuid(), channel_id, file_name, 'file', file_name, 1, %(now)s, %(now)s
    from sighting where channel_id = %(channel_id)s and verdict = 'kept' and item_id is null
    on conflict do nothing returning id, content_key
)
update sighting s set item_id = made.id from made
where s.channel_id = %(channel_id)s and s.file_name = made.content_key and s.verdict = 'kept'

-- name: verdicts
select file_name || ' ' || verdict from sighting where channel_id = %(channel_id)s order by 1

-- name: hashes
select distinct topic || ':' || settings_hash from sighting where channel_id = %(channel_id)s order by 1

-- name: written
select count(*) from sighting where channel_id = %(channel_id)s and xmin::text::bigint > %(after)s

-- name: newest_writer
select max(xmin::text::bigint) from sighting

-- name: shown
select title from item where channel_id = %(channel_id)s and not hidden order by 1

-- name: hidden
select title from item where channel_id = %(channel_id)s and hidden order by 1

-- name: message_count
select message_count from stream where channel_id = %(channel_id)s

-- name: lenses
select unnest(lenses) from stream where channel_id = %(channel_id)s

-- name: due_at
select due_at from stream where channel_id = %(channel_id)s

-- name: judging
select judged || '/' || changed from judging where channel_id = %(channel_id)s

-- name: judging_channels
select channel_id from judging order by 1

-- name: jobs
select dedupe_key from pgqueuer where status in ('queued', 'picked') order by 1

-- name: lose_jobs
delete from pgqueuer

-- name: waiting
select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()

-- name: take
select id from sighting where channel_id = %(channel_id)s order by id for update

-- name: waiting_sightings
select id from sighting where channel_id = %(channel_id)s and item_id is null

-- name: link
update sighting s set item_id = i.id from item i
where s.channel_id = %(channel_id)s and i.channel_id = s.channel_id and i.content_key = s.file_name
    and s.item_id is null

-- name: remove
delete from channel where id = %(channel_id)s

-- name: move
update channel set parent_id = %(parent)s where id = %(channel_id)s

-- name: version
select version from intake_settings
""",
)


@dataclass
class JudgingBench:
    """Everything that judging needs, in hand-moved time."""

    database: Database
    connection: Connection
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(START))

    def __post_init__(self) -> None:
        self.ids = Ids(self.clock, Randomness(1))
        self.rules = RulesCache(IntakeKnobs(), self.clock)
        self.kinds = Kinds([Judge(self.rules, self.clock, lambda _: OFFERED).kind()])
        execution = Execution(self.kinds, self.database, self.clock, Randomness(2), self.ids)
        self.stepper = Stepper(execution, self.connection, uuid4(), 60)

    async def add_channel(self, *, kind: str = "stream", parent: UUID | None = None) -> UUID:
        channel_id = self.ids.new()
        await self.change(
            "add_channel",
            id=channel_id,
            kind=kind,
            parent=parent,
            lenses=["documents", "photos"],
            due_at=START + timedelta(hours=4),
            now=START,
        )
        return channel_id

    async def see(self, channel_id: UUID, *candidates: Candidate, message: str = "", topic: str = "") -> None:
        """Store sightings as accepting would: a message for each candidate, or one for all."""
        async with self.database.transaction() as tx:
            await self.accept(tx, channel_id, candidates, message=message, topic=topic)
            await tx.execute(Q["count_kept"], channel_id=channel_id)

    async def accept(
        self, tx: Tx, channel_id: UUID, candidates: Sequence[Candidate], *, message: str = "", topic: str = ""
    ) -> None:
        rules = await self.rules.get(tx, channel_id)
        rows: list[dict[str, Any]] = []
        for number, candidate in enumerate(candidates):
            judged = rules.judge(candidate, topic=topic)
            rows.append(
                {
                    "id": str(self.ids.new()),
                    "message_key": message or candidate.file_name or candidate.url,
                    "attachment_key": str(number),
                    "topic": topic,
                    "author": candidate.author,
                    "from_bot": candidate.from_bot,
                    "url": candidate.url,
                    "file_name": candidate.file_name,
                    "size_bytes": candidate.size_bytes,
                    "mime_type": candidate.mime_type,
                    "verdict": judged.verdict,
                    "settings_hash": judged.settings_hash,
                }
            )
        await tx.execute(
            Q["add_sightings"], channel_id=channel_id, rows=json.dumps(rows), now=self.clock.now()
        )

    async def set(self, channel_id: UUID, topic: str = "", **settings: Any) -> None:
        async with self.database.transaction() as tx:
            now = self.clock.now()
            if topic:
                assert await intake_settings.set_topic(tx, channel_id, topic, settings, now=now)
            else:
                assert await intake_settings.set_channel(tx, channel_id, settings, now=now)

    async def tick(self) -> None:
        tick = Tick(self.kinds, self.database, self.clock, self.ids)
        await tick.tick(self.clock.now())

    async def step(self) -> bool:
        """Carry out one job of judging, if there is one."""
        job = await self.stepper.claim()
        if job is None:
            return False
        _, settlement = await self.stepper.execute(job)
        await self.stepper.settle(job, settlement)
        return True

    async def judge(self) -> int:
        """Judge until nothing is left; returns in how many jobs."""
        await self.tick()
        jobs = 0
        while await self.step():
            jobs += 1
        return jobs

    async def until_somebody_waits(self) -> None:
        """Return when another transaction waits for this one's locks."""
        async with asyncio.timeout(30):
            while not await self.value("waiting"):  # noqa: ASYNC110 - another backend sets no event
                await asyncio.sleep(0.01)

    async def change(self, name: str, **parameters: Any) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(Q[name], **parameters)

    async def column(self, name: str, **parameters: Any) -> list[Any]:
        async with self.database.transaction() as tx:
            return await tx.column(Q[name], **parameters)

    async def value(self, name: str, **parameters: Any) -> Any:
        return (await self.column(name, **parameters) or [None])[0]


async def open_bench(database: Database, url: str) -> JudgingBench:
    return JudgingBench(database, await connect(url))
