"""Many accounts send at once through a real worker: none waits for another, nor for reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from headgate.app.parts import Parts, open_parts
from headgate.connectors.protocol import CallKind, LaneDefault
from headgate.domain.reminders.windows import Window
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings
from headgate.outflow.reminders.runs import make_run
from headgate.outflow.sending.resting import SEND, wake_sender
from headgate.storage.jobs import engine
from headgate.testing import PRESETS, SimulatedConnector, World
from headgate.testing.simulator.sending.fanout import plan_runs

NINE = 9
PACED = LaneDefault(per_minute=240, burst=3)
DEADLINE_S = 60.0


WATCH_LEASES = """
create table held_lease (name text);
create function watch_leases() returns trigger language plpgsql as $$ begin
    insert into held_lease select name from lease where name = new.dedupe_key; return null;
end $$;
create constraint trigger watch_leases after insert on pgqueuer deferrable initially deferred
    for each row execute function watch_leases();
"""


def build_world(clock: RealClock, *, accounts: int = NINE, groups: int = 300) -> World:
    lanes: dict[CallKind, LaneDefault] = dict.fromkeys(("read", "send", "upload"), PACED)
    world = World(1, clock, PRESETS["plain"].but(lanes=lanes))
    for number in range(accounts):
        world.add_account(f"account-{number}")
    for number in range(groups):
        world.add_group(f"group-{number}", title=f"Group {number}")
    return world


@asynccontextmanager
async def opened(url: str, folder: Path, world: World) -> AsyncGenerator[Parts, None]:
    settings = load_settings(
        {"HEADGATE_DATA_DIR": str(folder), "HEADGATE_OUTFLOW_MESSAGES_PER_MINUTE": "240"}
    )
    connectors = {"simulated": SimulatedConnector(world)}
    async with open_parts(settings, url, clock=world.clock, connectors=connectors) as parts:
        yield parts


async def plan(parts: Parts, world: World) -> list[UUID]:
    async with parts.database.transaction() as tx:
        now: datetime = parts.clock.now()
        return await plan_runs(tx, world, ("Dear {group}",), window=Window(0, 1440), ids=parts.ids, now=now)


@asynccontextmanager
async def working(parts: Parts, world: World, *, until: Callable[[], bool]) -> AsyncGenerator[None, None]:
    """Let a worker send until the platform has seen enough of it; it goes on in the block."""
    enough = asyncio.Event()

    async def look(point: str) -> None:
        if point == "send.after_effect" and until():
            enough.set()

    world.on_point = look
    worker = parts.worker()
    running = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(DEADLINE_S):
            await enough.wait()
        yield
    finally:
        await worker.stop()
        await running


@pytest.mark.long
async def test_nine_accounts_send_at_once_beside_scans_that_take_every_slot(
    database_url: str, tmp_path: Path
) -> None:
    """By the time one of them has sent twenty messages, each has sent its first."""
    world = build_world(RealClock())
    over = asyncio.Event()

    async def read_on(job: Job[str]) -> None:
        await over.wait()

    async with opened(database_url, tmp_path, world) as parts:
        parts.kinds.add(Kind("long", str, read_on, runner="bulk"))
        async with parts.database.transaction() as tx:
            await enqueue(tx, [Wake("long", f"{number}", 100) for number in range(NINE)])
        await plan(parts, world)
        async with working(parts, world, until=lambda: max(sent_by_account(world).values()) == 20):
            sent = sent_by_account(world)
            over.set()
    assert len(sent) == NINE, sent


def sent_by_account(world: World) -> dict[str, int]:
    counts: dict[str, int] = {}
    for call in world.log.sends():
        counts[call.account] = counts.get(call.account, 0) + 1
    return counts


async def test_a_sender_that_gets_on_is_no_suspect_however_often_it_was_killed(
    database_url: str, tmp_path: Path
) -> None:
    """While its first turn goes on: the count does not wait for the job's end."""
    world = build_world(RealClock(), accounts=1)
    async with opened(database_url, tmp_path, world) as parts:
        await plan(parts, world)
        async with parts.database.transaction() as tx:
            await tx.raw("update pgqueuer set headers = headers || '{\"crashes\": 1}'")
            (before,) = await engine.list_jobs(tx, kind=SEND, limit=20)
        async with (
            working(parts, world, until=lambda: len(world.log.sends()) == 12),
            parts.database.transaction() as tx,
        ):
            after = await engine.get_job(tx, before.id)
    assert after is not None
    assert (before.crashes, after.crashes) == (1, 0)


async def test_whoever_goes_on_with_an_account_finds_its_lease_free(
    database_url: str, tmp_path: Path
) -> None:
    """The sender that wakes its successor gives the lease up in the same transaction."""
    world = build_world(RealClock(), accounts=1, groups=3)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(WATCH_LEASES.encode())
    async with opened(database_url, tmp_path, world) as parts:
        await plan(parts, world)
        async with parts.database.transaction() as tx:
            (reminder,) = await tx.raw("select id from reminder")
            later = parts.clock.now() + timedelta(seconds=1)
            now = parts.clock.now()
            await make_run(
                tx, reminder["id"], trigger="person", fire_at=later, now=now, ids=parts.ids, beside=True
            )
        async with working(parts, world, until=lambda: len(world.log.sends()) == 6):
            pass
        async with parts.database.transaction() as tx:
            assert await tx.raw("select name from held_lease") == []


async def test_new_and_continuing_runs_have_equal_rank(database_url: str, tmp_path: Path) -> None:
    """Whoever makes a run, and the sender that goes on with one, ask for the sender in the same way."""
    world = build_world(RealClock())
    async with opened(database_url, tmp_path, world) as parts:
        first, *_ = await plan(parts, world)
        async with parts.database.transaction() as tx:
            await wake_sender(tx, first)
            jobs = await engine.list_jobs(tx, kind=SEND, limit=20)
    kind = parts.kinds.get(SEND)
    assert kind is not None
    assert {job.priority for job in jobs} == {kind.priority}
    assert len(jobs) == NINE


@pytest.mark.once
def test_sixteen_accounts_send_without_waiting_for_a_slot() -> None:
    assert load_settings({"HEADGATE_DATA_DIR": "/nonexistent"}).outflow.fire_concurrency >= 16
