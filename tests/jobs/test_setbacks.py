"""What ends a job's try without being its failure: collisions, lost connections, killed workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest
from lab import Lab, eventually

from headgate.domain.retry import RetryPolicy
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.worker import build_worker
from headgate.kernel.clock import VirtualClock
from headgate.storage.database import Tx
from headgate.storage.jobs import engine
from headgate.storage.jobs.dead_letters import DeadLetter, list_dead_letters
from headgate.storage.jobs.engine import QueuedJob
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "setbacks",
    """
-- name: set_crashes
update pgqueuer set headers = headers || jsonb_build_object('crashes', %(crashes)s::int)
""",
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)


async def take_too_long(tx: Tx) -> None:
    await tx.raw("set local statement_timeout = '10ms'")
    await tx.raw("select pg_sleep(10)")


async def want_a_lock_too_long(tx: Tx) -> None:
    await tx.raw("do $$ begin raise sqlstate '55P03'; end $$")


async def end_up_in_a_circle(tx: Tx) -> None:
    await tx.raw("do $$ begin raise sqlstate '40P01'; end $$")


async def kill_backend(job: Job[str]) -> None:
    async with job.finish() as tx:
        await tx.raw("select pg_terminate_backend(pg_backend_pid())")


async def the_job(lab: Lab) -> QueuedJob:
    async with lab.database.transaction() as tx:
        (job,) = await engine.list_jobs(tx, kind=None, limit=10)
    return job


async def letters(lab: Lab) -> list[DeadLetter]:
    async with lab.database.transaction() as tx:
        return await list_dead_letters(tx)


@pytest.mark.parametrize("collide", [take_too_long, want_a_lock_too_long, end_up_in_a_circle])
async def test_collisions_and_time_outs_of_the_database_are_no_attempts(
    lab: Lab, collide: Callable[[Tx], Awaitable[None]]
) -> None:
    async def handle(job: Job[str]) -> None:
        async with job.finish() as tx:
            await collide(tx)

    await lab.enqueue(Wake("busy", "a"))
    execution = lab.execution(Kind("busy", str, handle))
    delays_s: list[float] = []
    for collisions in range(4):
        await execution.run(await lab.pick("busy", "a", collisions=collisions))
        (row,) = await lab.rows()
        assert (row.status, row.attempts) == ("queued", 0)
        delays_s.append(row.delay_s)
    assert await letters(lab) == []
    assert delays_s[0] > 0
    assert delays_s[3] > 2 * delays_s[0]


async def test_a_job_that_kills_its_database_connection_is_counted_and_put_off(lab: Lab) -> None:
    await lab.enqueue(Wake("poison", "a"))
    execution = lab.execution(Kind("poison", str, kill_backend))
    await execution.run(await lab.pick("poison", "a"))
    job = await the_job(lab)
    assert (job.status, job.crashes, job.attempts) == ("queued", 1, 0)
    (row,) = await lab.rows()
    assert row.delay_s > 1


@pytest.mark.long
async def test_a_job_that_keeps_killing_its_connection_becomes_a_dead_letter(lab: Lab) -> None:
    """Through a real worker: counted, put off, isolated, and then given up."""
    await lab.enqueue(Wake("poison", "a"))
    execution = lab.execution(Kind("poison", str, kill_backend))
    execution.retry = RetryPolicy(first_delay_s=0.01)
    worker = build_worker(lab.url, execution, lab.settings)
    async with lab.running(worker):

        async def dead() -> bool:
            return len(await letters(lab)) == 1

        await eventually(dead, "the job gave up")
    (letter,) = await letters(lab)
    assert (letter.kind, letter.error_class, letter.crashes) == ("poison", "Crashed", 5)
    assert "database connection" in letter.message


async def test_a_restart_of_the_whole_server_is_no_crash_of_a_job(lab: Lab) -> None:
    """The server has run for a shorter time than the job: it was started anew meanwhile."""
    clock = VirtualClock(NOW)
    lab.clock = clock

    async def outlive_the_server(job: Job[str]) -> None:
        clock.advance(10 * 365 * 86_400)
        await kill_backend(job)

    await lab.enqueue(Wake("long", "a"))
    await lab.execution(Kind("long", str, outlive_the_server)).run(await lab.pick("long", "a"))
    job = await the_job(lab)
    assert (job.status, job.crashes) == ("queued", 0)


async def test_progress_clears_the_crashes_of_a_job(lab: Lab) -> None:
    async def get_on_and_break(job: Job[str]) -> None:
        await job.progressed()
        raise ValueError("after some progress")

    await lab.enqueue(Wake("long", "a"))
    async with lab.database.transaction() as tx:
        await tx.execute(Q["set_crashes"], crashes=4)
    picked = await lab.pick("long", "a", crashes=1)
    await lab.execution(Kind("long", str, get_on_and_break)).run(picked)
    assert (await the_job(lab)).crashes == 0
