"""What is said of jobs and dead letters is the same in all places."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bench import Bench, build_bench
from engine_figures import ENGINE
from figures import Places
from webworld import WebWorld

from headgate.jobs import letters
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue

pytestmark = pytest.mark.usefixtures("settings_of_commands")


@pytest.fixture
async def bench(database_url: str, world: WebWorld) -> AsyncIterator[Bench]:
    bench = build_bench(world.database, database_url)
    yield bench
    await bench.close()


async def compare(bench: Bench, places: Places) -> dict[str, object]:
    """Compare all places after a tick has measured what there is."""
    for _ in range(2):
        await bench.parts.tick().tick(bench.clock.now())
    return await places.compare(ENGINE)


async def test_what_waits_runs_and_gave_up_is_the_same_number_everywhere(
    world: WebWorld, bench: Bench
) -> None:
    bench.world.add_stream("second")
    await bench.follow()
    async with world.signed_in() as client:
        places = Places(client, world.database, bench.clock)
        told = await compare(bench, places)
        assert told["waiting by kind"]
        stepper = await bench.stepper()
        job = await stepper.claim()
        assert job is not None
        assert (await compare(bench, places))["running"] == 1
        await bench.do(lambda tx: enqueue(tx, [Wake("judge", "no channel"), Wake("scan", "no channel")]))
        assert (await compare(bench, places))["waiting"] == 2
        _, settlement = await stepper.execute(job)
        await stepper.settle(job, settlement)
        await bench.work()
        told = await compare(bench, places)
        assert told["failed jobs"] == 2
        (first, *_) = await bench.rows("select id from dead_letter order by kind")
        await bench.do(lambda tx: letters.discard(tx, first["id"], now=bench.clock.now()))
        assert (await compare(bench, places))["failed jobs"] == 1
