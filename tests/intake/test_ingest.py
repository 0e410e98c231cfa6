"""From sightings to items, also while new sightings come."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

from missing import STREAM, Missing, Q

from headgate.domain.streams.messages import Message
from headgate.intake.streams.ingest import BATCH
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Kinds
from headgate.jobs.letters import discard
from headgate.storage.catalogue import sightings
from headgate.storage.jobs.dead_letters import DeadLetter, bury
from headgate.storage.jobs.engine import cancel_jobs
from headgate.testing import file_of


async def test_more_than_a_batch_is_made_by_successors(missing: Missing) -> None:
    names = [f"{number:04}" for number in range(BATCH + 20)]
    await missing.accept_waiting(
        *(missing.world.post(STREAM, files=[file_of(f"{name}.zip", name.encode())]) for name in names)
    )
    await missing.carry_out()
    assert await missing.column("titles") == names


async def test_accepting_and_ingesting_never_wait_for_each_other(missing: Missing) -> None:
    message = missing.world.post(STREAM, files=[file_of("first.zip", b"one")])
    await missing.accept_waiting(message)
    holds_the_job, accepting = asyncio.Event(), asyncio.Event()

    async def accept_again() -> None:
        await holds_the_job.wait()
        (attachment,) = message.attachments
        edited = replace(message, attachments=(replace(attachment, file_name="second.zip"),))
        accepting.set()
        await missing.accept(edited)

    async def ingest_slowly(job: Job[UUID]) -> None:
        async with job.finish() as tx:
            holds_the_job.set()
            await accepting.wait()
            await asyncio.wait({other}, timeout=0.3)
            assert await sightings.take_waiting(tx, job.key, limit=10)

    other = asyncio.create_task(accept_again())
    stepper = await missing.stepper()
    slow = replace(stepper.execution, kinds=Kinds([Kind("ingest", UUID, ingest_slowly)]))
    job = await replace(stepper, execution=slow).claim()
    assert job is not None
    await replace(stepper, execution=slow).execute(job)
    await other
    await missing.work()
    assert await missing.column("titles") == ["second"]


async def test_halves_are_made_in_the_order_in_which_others_make_items(missing: Missing) -> None:
    def post(name: str, content: str) -> Message:
        message = missing.world.post(STREAM, files=[file_of(f"{name}.zip", b"one")])
        (attachment,) = message.attachments
        return replace(message, attachments=(replace(attachment, content_id=content),))

    # One half ends with an item that somebody else is making; the other has what is asked for first.
    await missing.accept_waiting(post("y", "yy"), post("z", "zz"), post("bad", "bb"), post("a", "aa"))
    await missing.change("refuse")
    async with missing.database.transaction() as tx:
        await tx.execute(Q["hold_item"])
        ingesting = asyncio.create_task(missing.carry_out())
        await missing.wait_for_waiting(1)
        accepting = asyncio.create_task(missing.accept(post("a again", "aa"), post("y again", "yy")))
        await missing.wait_for_waiting(2)
    await asyncio.gather(ingesting, accepting)
    assert await missing.column("titles") == ["a", "held", "y"]


async def test_a_discarded_letter_holds_until_something_new_comes(missing: Missing) -> None:
    await missing.accept_waiting(missing.world.post(STREAM, files=[file_of("first.zip", b"one")]))
    now = missing.clock.now()
    letter = DeadLetter(
        id=missing.ids.new(),
        kind="ingest",
        key=str(missing.channel_id),
        error_class="Crashed",
        message="its worker died",
        stack="",
        attempts=1,
        crashes=5,
        first_tried_at=now,
        died_at=now,
    )
    async with missing.database.transaction() as tx:
        await cancel_jobs(tx, [f"ingest:{missing.channel_id}"])
        await bury(tx, letter)
        await discard(tx, letter.id, now=now)
    assert await missing.work() == 0
    missing.clock.advance(400)
    await missing.accept_waiting(missing.world.post(STREAM, files=[file_of("second.zip", b"two")]))
    await missing.work()
    assert await missing.column("titles") == ["first", "second"]
