"""What wakes a runner and what a claim costs: nobody asks the database without a reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast
from uuid import uuid4

import asyncpg
import pytest
from lab import Lab, eventually, finish_with_effect
from pgqueuer.domain import types

from headgate.jobs.fenced import FencedQueries
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.runner import WakeableDriver
from headgate.jobs.worker import build_worker
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "engine_wakes",
    """
-- name: delete_jobs
delete from pgqueuer

-- name: put_off_jobs
update pgqueuer set execute_after = now() + interval '90 seconds'
""",
)
CHANNEL = "ch_pgqueuer"

_connect = cast("Callable[..., Awaitable[Any]]", asyncpg.connect)  # pyright: ignore[reportUnknownMemberType]


class CountingDriver(WakeableDriver):
    """Notes how often the queue's table is written to."""

    writes = 0

    async def execute(self, query: str, *args: object) -> str:
        self.writes += 1
        return await super().execute(query, *args)


@pytest.fixture
async def driver(database_url: str) -> AsyncIterator[CountingDriver]:
    connection = await _connect(database_url)
    yield CountingDriver(connection)
    await connection.close()


async def delete_jobs(lab: Lab) -> None:
    async with lab.database.transaction() as tx:
        await tx.execute(Q["delete_jobs"])


@pytest.mark.parametrize("starved", [False, True], ids=["idle", "waits for a slot"])
async def test_ended_jobs_wake_only_a_runner_that_waits_for_a_slot(
    lab: Lab, driver: CountingDriver, starved: bool
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    driver.is_starved = lambda: starved
    await driver.add_listener(CHANNEL, lambda payload: heard.put_nowait(str(payload)))
    await delete_jobs(lab)
    await lab.enqueue(Wake("effect", "new"))
    first = await asyncio.wait_for(heard.get(), 60)
    assert ("delete" in first) is starved
    assert ("insert" in first) is not starved


async def test_jobs_that_ended_with_their_effects_are_removed_in_one_statement(
    lab: Lab, driver: CountingDriver
) -> None:
    execution = lab.execution(Kind("effect", str, finish_with_effect))
    queries = FencedQueries(driver, owner=uuid4())
    await lab.enqueue(*(Wake("effect", key) for key in "abc"))
    for key in "abc":
        picked = await lab.pick("effect", key)
        await execution.run(picked)
        queries.ended.append(picked.claim.job_id)
    await queries.sweep_ended()
    assert await lab.rows() == []
    assert driver.writes == 1


async def test_a_runner_learns_in_one_question_when_its_next_job_may_run(
    lab: Lab, driver: CountingDriver
) -> None:
    queries = FencedQueries(driver, owner=uuid4())
    mine = [types.QueueEntrypoint("effect")]
    assert await queries.get_due_in_s(mine) is None
    await lab.enqueue(Wake("effect", "a"))
    assert await queries.get_due_in_s(mine) == 0
    assert await queries.get_due_in_s([types.QueueEntrypoint("other")]) is None
    async with lab.database.transaction() as tx:
        await tx.execute(Q["put_off_jobs"])
    due_in_s = await queries.get_due_in_s(mine)
    assert due_in_s is not None
    assert 0 < due_in_s <= 90


async def test_each_worker_polls_as_many_at_once_as_the_setting_says(lab: Lab) -> None:
    """Two workers with two slots each: four polls are under way at the same time."""
    all_four = asyncio.Barrier(4)
    met: list[str] = []

    async def meet(job: Job[str]) -> None:
        await all_four.wait()
        met.append(job.key)

    kind = Kind("poll", str, meet, runner="poll", concurrency=2)
    await lab.enqueue(*(Wake("poll", key) for key in "abcd"))
    workers = [build_worker(lab.url, lab.execution(kind), lab.settings) for _ in range(2)]
    async with lab.running(workers[0]), lab.running(workers[1]):

        async def all_met() -> bool:
            return len(met) == 4

        await eventually(all_met, "all polls ran at once")
    assert sorted(met) == ["a", "b", "c", "d"]
