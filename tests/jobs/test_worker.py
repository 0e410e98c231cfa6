"""Real workers on a real server: killed, cut off, stopped, and still nothing lost or repeated."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from lab import Lab, effect, eventually, fail, finish_with_effect, note_effect
from pgqueuer.core.buffers import JobStatusLogBuffer

from headgate.jobs import fenced, runner
from headgate.jobs.job import Job
from headgate.jobs.kinds import Handler, Kind, Wake
from headgate.jobs.runner import POLL_S
from headgate.jobs.wake import cancel
from headgate.kernel.settings import JobsSettings
from headgate.storage.jobs.dead_letters import list_dead_letters

EFFECT = Kind("effect", str, finish_with_effect)


@contextmanager
def worker_process(url: str, name: str, *flags: str) -> Generator[subprocess.Popen[bytes], None, None]:
    script = Path(__file__).with_name("worker_main.py")
    process = subprocess.Popen([sys.executable, str(script), url, name, *flags])
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


async def test_many_jobs_are_each_done_once(lab: Lab) -> None:
    await lab.enqueue(*(Wake("effect", f"{number:03}") for number in range(300)))
    async with lab.worker(EFFECT):

        async def all_done() -> bool:
            return len(await lab.effects()) == 300

        await eventually(all_done, "all effects are there")
    assert await lab.effects() == [f"{number:03}" for number in range(300)]
    assert await lab.rows() == []


@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("default",)], ids=["2 s", "default"])
async def test_a_killed_worker_is_taken_over_and_the_effects_are_there_once(
    lab: Lab, flags: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    await lab.enqueue(Wake("hang", "a"))

    async def began() -> bool:
        return "began a" in await lab.effects()

    async def done() -> bool:
        return "a" in await lab.effects()

    with worker_process(lab.url, "first", "hang", *flags) as first:
        await eventually(began, "the first worker is in the middle of the job")
        with worker_process(lab.url, "second", *flags):
            first.kill()
            killed_s = lab.clock.monotonic()
            await eventually(done, "the second worker took over")
            record_property("take_over_s", round(lab.clock.monotonic() - killed_s, 1))
    assert await lab.effects() == ["a", "began a"]


def test_the_tuned_settings_take_over_within_ten_seconds() -> None:
    assert JobsSettings().heartbeat_timeout_s + 2 * POLL_S <= 10


@pytest.mark.long
async def test_a_job_that_kills_its_worker_dies_and_its_neighbours_live(lab: Lab) -> None:
    await lab.enqueue(Wake("die", "killer", priority=10), *(Wake("effect", f"{n}") for n in range(8)))

    async def settled() -> bool:
        async with lab.database.transaction() as tx:
            return bool(await list_dead_letters(tx)) and len(await lab.effects()) == 8

    deaths = 0
    while deaths < 20 and not await settled():
        with worker_process(lab.url, f"worker {deaths}") as process:

            async def ended(process: subprocess.Popen[bytes] = process) -> bool:
                return process.poll() is not None or await settled()

            await eventually(ended, "the worker died, or the work is done")
            deaths += process.poll() == -signal.SIGKILL
    async with lab.database.transaction() as tx:
        (letter,) = await list_dead_letters(tx)
    assert (letter.kind, letter.key, letter.error_class) == ("die", "killer", "Crashed")
    assert letter.crashes == 5
    assert sorted(await lab.effects()) == [f"{n}" for n in range(8)]


async def test_a_killed_connection_brings_the_engine_back_by_itself(lab: Lab) -> None:
    async with lab.worker(EFFECT):
        await lab.enqueue(Wake("effect", "before"))

        async def first_done() -> bool:
            return await lab.effects() == ["before"]

        await eventually(first_done, "the worker works")
        with psycopg.connect(lab.url, autocommit=True) as connection:
            killed = connection.execute(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity"
                " where application_name like 'headgate %' and datname = current_database()"
            ).fetchone()
        assert killed is not None
        assert killed[0] >= 1
        await lab.enqueue(Wake("effect", "after"))

        async def second_done() -> bool:
            return await lab.effects() == ["after", "before"]

        await eventually(second_done, "the worker is back")


async def test_stopping_gives_running_jobs_back_at_once(lab: Lab) -> None:
    began = asyncio.Event()

    async def hang(job: Job[str]) -> None:
        began.set()
        await asyncio.Event().wait()

    await lab.enqueue(Wake("hang", "a"))
    async with lab.worker(Kind("hang", str, hang)):
        await began.wait()
    (row,) = await lab.rows()
    assert (row.status, row.attempts, row.owner) == ("queued", 0, None)
    assert row.delay_s <= 0


async def test_a_running_job_can_be_cancelled(lab: Lab) -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def hang(job: Job[str]) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    await lab.enqueue(Wake("hang", "a"))
    async with lab.worker(Kind("hang", str, hang)):
        await began.wait()
        async with lab.database.transaction() as tx:
            assert await cancel(tx, [Wake("hang", "a")]) == 1
        await asyncio.wait_for(cancelled.wait(), 60)
    assert [row.status for row in await lab.rows()] == ["canceled"]


async def test_urgent_jobs_go_first(lab: Lab) -> None:
    order: list[str] = []

    async def note(job: Job[str]) -> None:
        order.append(job.key)

    lab.settings = JobsSettings(fast_concurrency=2, shutdown_s=1)
    await lab.enqueue(
        Wake("note", "low"), Wake("note", "high", priority=5), Wake("note", "higher", priority=9)
    )
    async with lab.worker(Kind("note", str, note)):

        async def all_noted() -> bool:
            return len(order) == 3

        await eventually(all_noted, "all ran")
    assert order == ["higher", "high", "low"]


async def never_flush(buffer: JobStatusLogBuffer) -> None:
    """Stands for a buffer whose next flush by itself is far away."""
    await buffer.shutdown.wait()


@pytest.mark.parametrize("handle", [finish_with_effect, note_effect], ids=["with effects", "without"])
async def test_a_slot_that_becomes_free_is_filled_at_once(
    lab: Lab, handle: Handler[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the engine's next poll has to come first, nor a flush of its buffer, nor a sweep."""
    for pause in ("POLL_S", "REPOLL_S", "SWEEP_S"):
        monkeypatch.setattr(runner, pause, 3600)
    monkeypatch.setattr(JobStatusLogBuffer, "periodic_flush", never_flush)
    lab.settings = JobsSettings(fast_concurrency=200, shutdown_s=1)
    keys = [f"{number:02}" for number in range(20)]
    await lab.enqueue(*(Wake("limited", key) for key in keys))
    async with lab.worker(Kind("limited", str, handle, concurrency=2)):

        async def all_done() -> bool:
            return await lab.effects() == keys

        await eventually(all_done, "all jobs of the limited kind are done")


async def test_a_full_runner_is_filled_again_by_the_first_slot(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of its four jobs take long; the others pass through the slot that is left."""
    monkeypatch.setattr(JobStatusLogBuffer, "periodic_flush", never_flush)
    monkeypatch.setattr(fenced, "FULL_S", 3600)
    lab.settings = JobsSettings(fast_concurrency=4, shutdown_s=1)
    over = asyncio.Event()

    async def wait(job: Job[str]) -> None:
        await over.wait()

    await lab.enqueue(*(Wake("wait", key, priority=1) for key in "abc"))
    keys = [f"{number:02}" for number in range(10)]
    await lab.enqueue(*(Wake("note", key) for key in keys))
    async with lab.worker(Kind("wait", str, wait), Kind("note", str, note_effect)):

        async def all_done() -> bool:
            return await lab.effects() == keys

        try:
            await eventually(all_done, "all others are done")
        finally:
            over.set()


async def test_a_failing_neighbour_disturbs_nobody(lab: Lab) -> None:
    await lab.enqueue(Wake("fail", "x"), *(Wake("effect", f"{n}") for n in range(5)))
    async with lab.worker(EFFECT, Kind("fail", str, fail)):

        async def settled() -> bool:
            rows = await lab.rows()
            return len(await lab.effects()) == 5 and [row.attempts for row in rows] == [1]

        await eventually(settled, "the others are done and the failed one waits")


async def test_effects_in_a_group_are_each_atomic(lab: Lab) -> None:
    async def finish_in_group(job: Job[str]) -> None:
        second = effect("x" * 10) if job.key != "bad" else effect(None)  # type: ignore[arg-type]
        await job.finish_with(effect(job.key), second)

    keys = [f"{n:02}" for n in range(30)]
    await lab.enqueue(*(Wake("group", key) for key in [*keys, "bad"]))
    async with lab.worker(Kind("group", str, finish_in_group)):

        async def settled() -> bool:
            return len(await lab.effects()) == 60 and len(await lab.rows()) == 1

        await eventually(settled, "the good ones are done and the bad one waits")
    effects = await lab.effects()
    assert "bad" not in effects
    assert effects[:30] == keys
