"""The gate: a suspect runs alone, but live work is never held for long on its account."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from lab import Lab, eventually, finish_with_effect

from headgate.jobs.gate import Gate
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "gate",
    """
-- name: suspect
update pgqueuer set entrypoint = 'suspect' where dedupe_key = %(dedupe_key)s
""",
)

OWNER = uuid4()


def start_job(gate: Gate, job_id: int) -> None:
    assert gate.begin_claim()
    gate.end_claim(OWNER, [job_id])


async def test_nobody_claims_while_a_suspect_runs() -> None:
    gate = Gate()
    async with gate.alone() as quiet:
        assert quiet
        assert not gate.begin_claim()
    assert gate.begin_claim()


async def test_a_suspect_waits_for_what_ends_soon() -> None:
    gate = Gate(patience_s=60)
    start_job(gate, 1)
    asyncio.get_running_loop().call_soon(gate.ended, OWNER, 1)
    async with gate.alone() as quiet:
        assert quiet


async def test_a_suspect_does_not_wait_for_what_takes_long() -> None:
    gate = Gate(patience_s=0)
    start_job(gate, 1)
    async with gate.alone() as quiet:
        assert not quiet
    assert gate.begin_claim()


async def test_live_work_goes_on_beside_a_long_job_while_a_suspect_waits(lab: Lab) -> None:
    began, end = asyncio.Event(), asyncio.Event()

    async def take_long(_job: Job[str]) -> None:
        began.set()
        await end.wait()

    kinds = [Kind("effect", str, finish_with_effect), Kind("long", str, take_long, runner="bulk")]

    async def suspect_was_given_back() -> bool:
        suspect = (await lab.rows())[1]
        return suspect.status == "queued" and suspect.attempts == 0 and suspect.delay_s > 0

    async def live_is_done() -> bool:
        return await lab.effects() == ["live"]

    async with lab.worker(*kinds, patience_s=0.1):
        await lab.enqueue(Wake("long", "a"))
        await began.wait()
        async with lab.database.transaction() as tx:
            await enqueue(tx, [Wake("effect", "suspect")])
            await tx.execute(Q["suspect"], dedupe_key="effect:suspect")
        await eventually(suspect_was_given_back, "the suspect waits for another time")
        await lab.enqueue(Wake("effect", "live"))
        await eventually(live_is_done, "live work is not held")
        end.set()
