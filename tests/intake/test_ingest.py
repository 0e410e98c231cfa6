"""From sightings to items, also while new sightings come."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

from bench import Bench

from headgate.ingest.items import BATCH
from headgate.intake.accept import accept_messages
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Kinds
from headgate.storage import sightings
from headgate.testing import file_of


async def test_more_than_a_batch_is_made_by_successors(bench: Bench) -> None:
    for number in range(BATCH + 20):
        bench.world.post("packs", files=[file_of(f"{number:04}.zip", str(number).encode())])
    bench.clock.advance(60)
    await bench.follow()
    await bench.work()
    assert await bench.column("titles", key="packs") == [f"{number:04}" for number in range(BATCH + 20)]


async def test_accepting_and_ingesting_never_wait_for_each_other(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("first.zip", b"one")])
    await bench.follow()
    channel_id = (await bench.stream()).id
    async with bench.database.transaction() as tx:
        await accept_messages(tx, channel_id, [message], ids=bench.parts.ids, now=bench.clock.now())
    holds_the_job, accepting = asyncio.Event(), asyncio.Event()

    async def accept_again() -> None:
        await holds_the_job.wait()
        (attachment,) = message.attachments
        edited = replace(message, attachments=(replace(attachment, file_name="second.zip"),))
        async with bench.database.transaction() as tx:
            accepting.set()
            await accept_messages(tx, channel_id, [edited], ids=bench.parts.ids, now=bench.clock.now())

    async def ingest_slowly(job: Job[UUID]) -> None:
        async with job.finish() as tx:
            holds_the_job.set()
            await accepting.wait()
            await asyncio.wait({other}, timeout=0.3)
            assert await sightings.take_waiting(tx, job.key, limit=10)

    other = asyncio.create_task(accept_again())
    stepper = await bench.stepper()
    slow = replace(bench.parts.execution, kinds=Kinds([Kind("ingest", UUID, ingest_slowly)]))
    job = await replace(stepper, execution=slow).claim()
    assert job is not None
    await replace(stepper, execution=slow).execute(job)
    await other
    await bench.work()
    assert await bench.column("titles", key="packs") == ["second"]
