"""The engine's own statements with the fence in them: a stale owner changes nothing, crashes are counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import asyncpg
import pytest
from lab import Lab
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.domain import models, types
from pgqueuer.ports.repository import EntrypointExecutionParameter

from headgate.jobs.execution import Picked
from headgate.jobs.fenced import FencedQueries, counting_crashes
from headgate.jobs.job import Claim, Settlement
from headgate.jobs.kinds import Wake
from headgate.jobs.runner import picked_from
from headgate.storage.jobs.engine import list_completed, release_job
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "fenced",
    """
-- name: age_heartbeats
update pgqueuer set heartbeat = now() - interval '1 minute'

-- name: move_to_suspects
update pgqueuer set entrypoint = 'suspect'

-- name: get_silence
select now() - heartbeat from pgqueuer where id = %(id)s
""",
)

KIND = types.QueueEntrypoint("fenced")
TIMEOUT = timedelta(seconds=5)

_connect = cast("Callable[..., Awaitable[Any]]", asyncpg.connect)  # pyright: ignore[reportUnknownMemberType]


@dataclass
class Claimant:
    """The engine's repository of one runner, with its own connection."""

    queries: FencedQueries
    connection: Any
    limit: int = 0

    @property
    def owner(self) -> UUID:
        assert self.queries.owner is not None
        return self.queries.owner

    async def claim(self) -> list[models.Job]:
        return await self.queries.dequeue(
            batch_size=10,
            entrypoints={KIND: EntrypointExecutionParameter(concurrency_limit=self.limit)},
            queue_manager_id=types.QueueManagerId(self.owner),
            global_concurrency_limit=None,
            heartbeat_timeout=TIMEOUT,
        )

    async def flush(self, job: models.Job, settlement: Settlement) -> None:
        self.queries.settlements[job.id] = settlement
        await self.queries.log_jobs([(job, "successful", None)])


Claimants = Callable[[], Awaitable[Claimant]]


@pytest.fixture(params=[0, 3], ids=["unlimited", "limited"])
async def claimants(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Claimants]:
    """Makes claimants; a kind with a limit is claimed by another statement of the engine."""
    opened: list[Any] = []

    async def make() -> Claimant:
        connection = await _connect(database_url)
        opened.append(connection)
        return Claimant(FencedQueries(AsyncpgDriver(connection), owner=uuid4()), connection, request.param)

    yield make
    for connection in opened:
        await connection.close()


async def fall_silent(lab: Lab) -> None:
    async with lab.database.transaction() as tx:
        await tx.execute(Q["age_heartbeats"])


async def silent_for(lab: Lab, job: models.Job) -> timedelta:
    async with lab.database.transaction() as tx:
        return await tx.value(Q["get_silence"], id=job.id)


@dataclass
class TakeOver:
    """A job that a first runner held and a second one has taken over."""

    stale: Claimant
    owner: Claimant
    job: models.Job


@pytest.fixture
async def taken_over(lab: Lab, claimants: Claimants) -> TakeOver:
    stale, owner = await claimants(), await claimants()
    await lab.enqueue(Wake(KIND, "a"))
    (job,) = await stale.claim()
    await fall_silent(lab)
    assert [taken.id for taken in await owner.claim()] == [job.id]
    return TakeOver(stale, owner, job)


@pytest.mark.parametrize("settlement", list(Settlement), ids=lambda one: one.value)
async def test_a_stale_owners_flush_changes_nothing(
    lab: Lab, taken_over: TakeOver, settlement: Settlement
) -> None:
    await taken_over.stale.flush(taken_over.job, settlement)
    rows = await lab.rows()
    assert [(row.status, row.owner) for row in rows] == [("picked", taken_over.owner.owner)]


async def test_the_owners_flush_completes_the_job(lab: Lab, taken_over: TakeOver) -> None:
    await taken_over.owner.flush(taken_over.job, Settlement.COMPLETE)
    assert await lab.rows() == []


async def test_heartbeats_never_wait_for_jobs_that_are_just_ending(lab: Lab, claimants: Claimants) -> None:
    runner = await claimants()
    await lab.enqueue(Wake(KIND, "ending"), Wake(KIND, "running"))
    ending, running = await runner.claim()
    await fall_silent(lab)
    async with lab.database.transaction() as tx, asyncio.timeout(10):
        await tx.run(Claim(ending.id, runner.owner).completion())
        await runner.queries.update_heartbeat([running.id, ending.id])
    assert await silent_for(lab, running) < TIMEOUT


async def test_a_stale_owners_heartbeat_keeps_nothing_alive(lab: Lab, taken_over: TakeOver) -> None:
    await fall_silent(lab)
    await taken_over.stale.queries.update_heartbeat([taken_over.job.id])
    assert await silent_for(lab, taken_over.job) > TIMEOUT
    await taken_over.owner.queries.update_heartbeat([taken_over.job.id])
    assert await silent_for(lab, taken_over.job) < TIMEOUT


async def test_a_stale_owner_cannot_claim_its_job_back_while_the_new_one_lives(
    lab: Lab, taken_over: TakeOver
) -> None:
    assert await taken_over.stale.claim() == []
    assert [row.owner for row in await lab.rows()] == [taken_over.owner.owner]


async def test_only_a_claim_after_a_crash_is_counted(lab: Lab, claimants: Claimants) -> None:
    first, second = await claimants(), await claimants()

    async def claim_one(claimant: Claimant) -> Picked:
        (job,) = await claimant.claim()
        return picked_from(job, claimant.owner)

    await lab.enqueue(Wake(KIND, "a"))
    picked = await claim_one(first)
    assert picked.crashes == 0
    async with lab.database.transaction() as tx:
        assert await release_job(tx, job_id=picked.claim.job_id, owner=first.owner)
    assert (await claim_one(first)).crashes == 0, "given back is no crash"
    await fall_silent(lab)
    assert (await claim_one(first)).crashes == 0, "its own late heartbeat is no crash"
    await fall_silent(lab)
    assert (await claim_one(second)).crashes == 1
    await fall_silent(lab)
    last = await claim_one(first)
    assert (last.kind, last.key, last.crashes) == (KIND, "a", 2)


async def test_a_suspect_is_logged_under_its_kind(lab: Lab, claimants: Claimants) -> None:
    claimant = await claimants()
    await lab.enqueue(Wake(KIND, "a"))
    (job,) = await claimant.claim()
    async with lab.database.transaction() as tx:
        await tx.execute(Q["move_to_suspects"])
    await claimant.flush(job, Settlement.COMPLETE)
    async with lab.database.transaction() as tx:
        assert [ended.id for ended in await list_completed(tx, kind=KIND, limit=10)] == [job.id]


async def test_a_flush_that_failed_is_done_by_the_next_one(lab: Lab, claimants: Claimants) -> None:
    claimant = await claimants()
    await lab.enqueue(Wake(KIND, "a"))
    (job,) = await claimant.claim()
    driver = claimant.queries.driver
    other = await claimants()
    await other.connection.close()
    claimant.queries.driver = other.queries.driver
    with pytest.raises(asyncpg.InterfaceError):
        await claimant.flush(job, Settlement.COMPLETE)
    claimant.queries.driver = driver
    await claimant.queries.log_jobs([(job, "successful", None)])
    assert await lab.rows() == []


async def test_the_engine_is_never_asked_for_a_retry(lab: Lab, taken_over: TakeOver) -> None:
    with pytest.raises(RuntimeError, match="must not ask the engine"):
        await taken_over.owner.queries.retry_job(taken_over.job, timedelta(0), None)


@pytest.mark.once
@pytest.mark.parametrize(
    "sql",
    [
        "select 1",
        "SET status = 'picked',",
        "SET status = 'picked', SET status = 'picked', queue_manager_id = $1",
        "SET status = 'picked', queue_manager_id = $1 WHERE queue_manager_id = $2",
    ],
)
def test_a_statement_that_this_was_not_written_for_is_refused(sql: str) -> None:
    with pytest.raises(RuntimeError, match="not the one that this was written for"):
        counting_crashes(sql)
