"""A workshop for job tests: kinds with known behaviour, a worker around them, and a look at the rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from headgate.domain.errors import Transient
from headgate.jobs.execution import Execution, Picked
from headgate.jobs.gate import PATIENCE_S
from headgate.jobs.job import Claim, Job
from headgate.jobs.kinds import Kind, Kinds, Wake
from headgate.jobs.wake import enqueue
from headgate.jobs.worker import Worker, build_worker
from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import JobsSettings
from headgate.storage.database import Database, Statement
from headgate.storage.queries import QueryFile

DEADLINE_S = 60.0

Q = QueryFile(
    "lab",
    """
-- name: insert_effect
insert into effect (key, worker) select * from unnest(%(key)s::text[], %(worker)s::text[])

-- name: list_effects
select key from effect order by key

-- name: set_owner
update pgqueuer set queue_manager_id = %(owner)s

-- name: pick
update pgqueuer set status = 'picked', queue_manager_id = %(owner)s, heartbeat = now()
where id = (select id from pgqueuer where status = 'queued' order by priority desc, id limit 1)
returning id

-- name: list_rows
select id, status::text as status, attempts, priority, queue_manager_id as owner,
       extract(epoch from execute_after - now())::float8 as delay_s
from pgqueuer order by id
""",
)

TABLES = b"create table effect (key text not null, worker text not null)"


@dataclass(frozen=True)
class RowSeen:
    """A row of the engine."""

    id: int
    status: str
    attempts: int
    priority: int
    owner: UUID | None
    delay_s: float


class Flawed(Transient):
    """What the kind `fail` raises."""


def effect(key: str, worker: str = "") -> Statement:
    return Statement(Q["insert_effect"], {"key": key, "worker": worker})


async def finish_with_effect(job: Job[str]) -> None:
    async with job.finish() as tx:
        await tx.run(effect(job.key))


async def note_effect(job: Job[str]) -> None:
    """Write the effect in a transaction of its own, and end without any."""
    async with job.database.transaction() as tx:
        await tx.run(effect(job.key))


async def fail(job: Job[str]) -> None:
    raise Flawed(f"{job.key} is flawed")


@dataclass
class Lab:
    """Everything a job test needs around one database."""

    url: str
    database: Database
    clock: Clock = field(default_factory=RealClock)
    settings: JobsSettings = field(
        default_factory=lambda: JobsSettings(heartbeat_timeout_s=2, shutdown_s=1, fast_concurrency=10)
    )

    def execution(self, *kinds: Kind[Any], max_crashes: int = 5) -> Execution:
        randomness = Randomness(1)
        return Execution(
            kinds=Kinds(kinds),
            database=self.database,
            clock=self.clock,
            randomness=randomness,
            ids=Ids(self.clock, randomness),
            max_crashes=max_crashes,
        )

    @asynccontextmanager
    async def worker(self, *kinds: Kind[Any], patience_s: float = PATIENCE_S) -> AsyncGenerator[Worker, None]:
        worker = build_worker(self.url, self.execution(*kinds), self.settings)
        for runner in worker.runners:
            runner.gate.patience_s = patience_s
        async with self.running(worker):
            yield worker

    @asynccontextmanager
    async def running(self, worker: Worker) -> AsyncGenerator[None, None]:
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            await worker.stop()
            await task

    async def enqueue(self, *wakes: Wake) -> int:
        async with self.database.transaction() as tx:
            return await enqueue(tx, wakes)

    async def pick(
        self, kind: str, key: str, *, attempts: int = 0, crashes: int = 0, collisions: int = 0
    ) -> Picked:
        """Claim the next row as a runner would, for tests of single endings."""
        owner = uuid4()
        async with self.database.transaction() as tx:
            job_id = await tx.value(Q["pick"], owner=owner)
        return Picked(
            claim=Claim(job_id=job_id, owner=owner),
            kind=kind,
            key=key,
            attempts=attempts,
            crashes=crashes,
            collisions=collisions,
            first_tried_at=None,
            isolated=False,
        )

    async def steal(self) -> UUID:
        """Give all rows to another owner, as a take-over does."""
        owner = uuid4()
        async with self.database.transaction() as tx:
            await tx.execute(Q["set_owner"], owner=owner)
        return owner

    async def rows(self) -> list[RowSeen]:
        async with self.database.transaction() as tx:
            return await tx.all(RowSeen, Q["list_rows"])

    async def effects(self) -> list[str]:
        async with self.database.transaction() as tx:
            return await tx.column(Q["list_effects"])


async def eventually(check: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until something outside has happened; the deadline is only there to end a broken test."""
    async with asyncio.timeout(DEADLINE_S):
        while not await check():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.02)
    assert await check(), what
