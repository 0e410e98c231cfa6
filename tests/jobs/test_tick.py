"""The tick: due rows get jobs, once, and what crashes leave behind is tidied away."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lab import Lab, effect

from headgate.domain.errors import Gone
from headgate.jobs.cron import ONLY_KEY, CronRows, install_schedules, next_after, recurring
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Kinds, Wake
from headgate.jobs.tick import DUE_AT_ONCE, MAX_QUEUED, Tick
from headgate.kernel.clock import VirtualClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Tx
from headgate.storage.jobs.cron import upsert_cron, wake_cron
from headgate.storage.jobs.dead_letters import list_dead_letters
from headgate.storage.jobs.engine import list_completed
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "tick",
    """
-- name: get_due
select due_at from cron where kind = %(kind)s and key = %(key)s

-- name: set_status
update pgqueuer set status = %(status)s::pgqueuer_status, queue_manager_id = null,
    updated = now() - make_interval(secs => %(age_s)s),
    execute_after = now() - make_interval(secs => %(age_s)s)
where dedupe_key = %(dedupe_key)s
""",
)

START = datetime(2030, 1, 1, 0, 2, tzinfo=UTC)
EVERY_FIVE_MINUTES = "*/5 * * * *"


async def _never(job: Job[str]) -> None:
    raise AssertionError("no worker runs in these tests")


ROWS = Kind("rows", str, _never, rows=CronRows("rows", EVERY_FIVE_MINUTES), priority=3)


def make_tick(lab: Lab, *kinds: Kind[Any]) -> Tick:
    return Tick(
        kinds=Kinds(kinds),
        database=lab.database,
        clock=lab.clock,
        ids=Ids(lab.clock, Randomness(1)),
    )


async def put_due(lab: Lab, *keys: str, due_at: datetime, kind: str = "rows") -> None:
    async with lab.database.transaction() as tx:
        for key in keys:
            await upsert_cron(tx, kind=kind, key=key, schedule=EVERY_FIVE_MINUTES, due_at=due_at)


async def due_of(lab: Lab, kind: str, key: str = ONLY_KEY) -> datetime:
    async with lab.database.transaction() as tx:
        return await tx.value(Q["get_due"], kind=kind, key=key)


async def set_status(lab: Lab, wake: Wake, status: str, *, age_s: float) -> None:
    async with lab.database.transaction() as tx:
        await tx.execute(Q["set_status"], status=status, age_s=age_s, dedupe_key=wake.dedupe_key)


@pytest.fixture
def clock(lab: Lab) -> VirtualClock:
    """The product's time, set by hand."""
    clock = VirtualClock(START)
    lab.clock = clock
    return clock


async def test_due_rows_get_jobs_and_others_do_not(lab: Lab) -> None:
    await put_due(lab, "a", "b", due_at=START)
    await put_due(lab, "later", due_at=START + timedelta(seconds=1))
    await make_tick(lab, ROWS).tick(START)
    rows = await lab.rows()
    assert [(row.status, row.priority) for row in rows] == [("queued", 3), ("queued", 3)]


@pytest.mark.parametrize("status", ["queued", "picked"])
async def test_a_row_that_has_a_job_gets_no_other(lab: Lab, status: str) -> None:
    await put_due(lab, "a", due_at=START)
    await lab.enqueue(Wake("rows", "a"))
    await set_status(lab, Wake("rows", "a"), status, age_s=0)
    await make_tick(lab, ROWS).tick(START)
    assert [row.status for row in await lab.rows()] == [status]


async def test_two_ticks_at_once_never_double_a_job(lab: Lab) -> None:
    ticks = [make_tick(lab, ROWS), make_tick(lab, ROWS)]
    for step in range(1, 11):
        await put_due(lab, *(f"{step}-{number}" for number in range(20)), due_at=START)
        await asyncio.gather(*(tick.tick(START) for tick in ticks))
        assert len(await lab.rows()) == 20 * step


async def test_one_tick_wakes_all_that_is_due_as_far_as_the_queue_has_room(lab: Lab) -> None:
    await put_due(lab, *(f"{number:04}" for number in range(DUE_AT_ONCE + 1)), due_at=START)
    await make_tick(lab, ROWS).tick(START)
    assert len(await lab.rows()) == DUE_AT_ONCE + 1
    await put_due(lab, *(f"{number:04}" for number in range(MAX_QUEUED + 1)), due_at=START)
    await make_tick(lab, ROWS).tick(START)
    assert len(await lab.rows()) == MAX_QUEUED


async def test_a_wake_up_during_a_run_is_not_lost(lab: Lab, clock: VirtualClock) -> None:
    async def be_woken(tx: Tx, now: datetime) -> None:
        async with lab.database.transaction() as other:
            await wake_cron(other, kind="sweep", key=ONLY_KEY, now=now)

    kind = recurring("sweep", EVERY_FIVE_MINUTES, be_woken, clock)
    await put_due(lab, ONLY_KEY, kind="sweep", due_at=START)
    tick = make_tick(lab, kind)
    await tick.tick(START)
    await lab.execution(kind).run(await lab.pick("sweep", ONLY_KEY))
    assert await due_of(lab, "sweep") == START
    await tick.tick(START)
    assert [row.status for row in await lab.rows()] == ["successful", "queued"]


async def test_a_schedule_goes_by_product_time(lab: Lab, clock: VirtualClock) -> None:
    async def work(tx: Tx, now: datetime) -> None:
        await tx.run(effect(now.isoformat()))

    kind = recurring("sweep", EVERY_FIVE_MINUTES, work, clock)
    await install_schedules(lab.database, [kind], now=clock.now())
    tick = make_tick(lab, kind)
    await tick.tick(clock.now())
    assert await lab.rows() == []
    clock.advance(3 * 60)
    await tick.tick(clock.now())
    assert [row.status for row in await lab.rows()] == ["queued"]
    await lab.execution(kind).run(await lab.pick("sweep", ONLY_KEY))
    assert await lab.effects() == ["2030-01-01T00:05:00+00:00"]
    assert await due_of(lab, "sweep") == START.replace(minute=10)


@pytest.mark.once
def test_a_schedule_is_in_utc() -> None:
    evening = datetime(2030, 6, 1, 22, 0, tzinfo=UTC)
    assert next_after("0 6 * * *", evening) == datetime(2030, 6, 2, 6, 0, tzinfo=UTC)


async def test_due_times_survive_a_restart_unless_the_schedule_changed(lab: Lab, clock: VirtualClock) -> None:
    async def work(tx: Tx, now: datetime) -> None:
        return

    async def install(schedule: str) -> datetime:
        await install_schedules(lab.database, [recurring("sweep", schedule, work, clock)], now=clock.now())
        return await due_of(lab, "sweep")

    assert await install(EVERY_FIVE_MINUTES) == START.replace(minute=5)
    clock.advance(3600)
    assert await install(EVERY_FIVE_MINUTES) == START.replace(minute=5)
    assert await install("0 * * * *") == START.replace(hour=2, minute=0)


async def test_a_dead_recurring_job_is_due_at_its_next_time(lab: Lab, clock: VirtualClock) -> None:
    async def work(tx: Tx, now: datetime) -> None:
        raise Gone("nothing there")

    kind = recurring("sweep", EVERY_FIVE_MINUTES, work, clock)
    await put_due(lab, ONLY_KEY, kind="sweep", due_at=START)
    tick = make_tick(lab, kind)
    await tick.tick(START)
    await lab.execution(kind).run(await lab.pick("sweep", ONLY_KEY))
    assert await due_of(lab, "sweep") == START.replace(minute=5)
    await tick.tick(START)
    assert [row.status for row in await lab.rows()] == ["successful"]


async def test_what_the_engine_parked_becomes_a_dead_letter(lab: Lab, clock: VirtualClock) -> None:
    await put_due(lab, "a", due_at=START)
    await lab.enqueue(Wake("rows", "a"), Wake("unknown", "b"))
    await set_status(lab, Wake("rows", "a"), "failed", age_s=0)
    await set_status(lab, Wake("unknown", "b"), "failed", age_s=0)
    await make_tick(lab, ROWS).tick(START)
    assert await lab.rows() == []
    async with lab.database.transaction() as tx:
        letters = await list_dead_letters(tx)
    assert {(letter.kind, letter.key, letter.died_at) for letter in letters} == {
        ("rows", "a", START),
        ("unknown", "b", START),
    }
    assert await due_of(lab, "rows", "a") == START.replace(minute=5)


async def test_ended_rows_are_swept_once_their_runner_must_be_gone(lab: Lab) -> None:
    await lab.enqueue(Wake("rows", "left over"), Wake("rows", "fresh"), Wake("rows", "cancelled"))
    await set_status(lab, Wake("rows", "left over"), "successful", age_s=60)
    await set_status(lab, Wake("rows", "cancelled"), "canceled", age_s=60)
    await set_status(lab, Wake("rows", "fresh"), "successful", age_s=0)
    await make_tick(lab).tick(START)
    assert [row.status for row in await lab.rows()] == ["successful"]
    async with lab.database.transaction() as tx:
        ended = await list_completed(tx, kind="rows", limit=10)
    assert [job.status for job in ended] == ["successful"]


async def test_who_waits_long_rises(lab: Lab, clock: VirtualClock) -> None:
    waiting, fresh, running = Wake("rows", "waiting"), Wake("rows", "fresh"), Wake("rows", "running")
    await lab.enqueue(waiting, fresh, running)
    await set_status(lab, waiting, "queued", age_s=60)
    await set_status(lab, running, "picked", age_s=60)
    tick = make_tick(lab)
    await tick.tick(START)
    assert [row.priority for row in await lab.rows()] == [1, 0, 0]
    await set_status(lab, waiting, "queued", age_s=60)
    await tick.tick(START)
    assert [row.priority for row in await lab.rows()] == [1, 0, 0], "it looks every 10 s, not at each tick"
    clock.advance(10)
    await tick.tick(START)
    assert [row.priority for row in await lab.rows()] == [2, 0, 0]
