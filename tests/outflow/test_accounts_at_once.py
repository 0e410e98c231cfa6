"""Many accounts send at once through a real worker: none waits for another, nor for reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest

from headgate.app.parts import Parts, open_parts
from headgate.connectors.protocol import CallKind, LaneDefault
from headgate.domain.windows import Window
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings
from headgate.outflow.waking import SEND, wake_sender
from headgate.storage import engine
from headgate.testing import PRESETS, SimulatedConnector, World
from headgate.testing.simulator.fanout import plan_runs

NINE = 9
PACED = LaneDefault(per_minute=240, burst=3)
DEADLINE_S = 60.0


def build_world(clock: RealClock) -> World:
    lanes: dict[CallKind, LaneDefault] = dict.fromkeys(("read", "send", "upload"), PACED)
    world = World(1, clock, PRESETS["plain"].but(lanes=lanes))
    for number in range(NINE):
        world.add_account(f"account-{number}")
    for number in range(300):
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
        worker = parts.worker()
        running = asyncio.create_task(worker.run())
        try:
            async with asyncio.timeout(DEADLINE_S):
                while max(sent_by_account(world).values(), default=0) < 20:  # noqa: ASYNC110 - the worker's doing
                    await asyncio.sleep(0.02)
        finally:
            sent = sent_by_account(world)
            over.set()
            await worker.stop()
            await running
    assert len(sent) == NINE, sent


def sent_by_account(world: World) -> dict[str, int]:
    counts: dict[str, int] = {}
    for call in world.log.sends():
        counts[call.account] = counts.get(call.account, 0) + 1
    return counts


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
