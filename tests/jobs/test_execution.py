"""How a single job ends: with its effects, without, tried again, waiting, dead, or taken over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from lab import Lab, effect, fail, finish_with_effect

from headgate.domain.errors import Gone, RateLimited
from headgate.domain.retry import RetryPolicy
from headgate.jobs.job import Job, Settlement
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.stepper import Stepper
from headgate.jobs.wake import cancel, enqueue
from headgate.kernel.clock import VirtualClock
from headgate.storage.database import Database, connect
from headgate.storage.jobs.dead_letters import list_dead_letters
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "execution",
    """
-- name: end_delay
update pgqueuer set execute_after = now() - interval '1 second'
""",
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)

EFFECT = Kind("effect", str, finish_with_effect)
FAIL = Kind("fail", str, fail)


async def test_effects_and_completion_are_one_transaction(lab: Lab) -> None:
    async def finish_and_fall(job: Job[str]) -> None:
        async with job.finish() as tx:
            await tx.run(effect(job.key))
            raise ValueError("after the effect")

    await lab.enqueue(Wake("broken", "a"))
    picked = await lab.pick("broken", "a")
    await lab.execution(Kind("broken", str, finish_and_fall)).run(picked)
    assert await lab.effects() == []
    assert [row.status for row in await lab.rows()] == ["queued"]


async def test_a_successor_under_the_same_key_comes_with_the_completion(lab: Lab) -> None:
    async def chain(job: Job[str]) -> None:
        async with job.finish() as tx:
            assert await enqueue(tx, [Wake("chain", job.key)]) == 1

    await lab.enqueue(Wake("chain", "a"))
    picked = await lab.pick("chain", "a")
    assert await lab.execution(Kind("chain", str, chain)).run(picked) is Settlement.SWEEP
    assert [row.status for row in await lab.rows()] == ["successful", "queued"]


async def test_an_enqueue_in_a_rolled_back_transaction_leaves_no_job(lab: Lab) -> None:
    with pytest.raises(ZeroDivisionError):
        async with lab.database.transaction() as tx:
            await enqueue(tx, [Wake("effect", "a")])
            raise ZeroDivisionError
    assert await lab.rows() == []


async def test_a_key_has_one_job_at_a_time_and_a_refusal_poisons_nothing(lab: Lab) -> None:
    async with lab.database.transaction() as tx:
        assert await enqueue(tx, [Wake("effect", "a"), Wake("effect", "a"), Wake("effect", "b")]) == 2
        assert await enqueue(tx, [Wake("effect", "a"), Wake("effect", "c")]) == 1
    assert len(await lab.rows()) == 3


async def test_a_more_urgent_wish_moves_a_queued_job_forward(lab: Lab) -> None:
    await lab.enqueue(Wake("effect", "a"), Wake("effect", "b", priority=5))
    assert await lab.enqueue(Wake("effect", "a", priority=9), Wake("effect", "b", priority=2)) == 0
    assert [row.priority for row in await lab.rows()] == [9, 5]


async def test_dedup_covers_queued_and_running_jobs_only(lab: Lab) -> None:
    await lab.enqueue(Wake("effect", "a"))
    picked = await lab.pick("effect", "a")
    assert await lab.enqueue(Wake("effect", "a")) == 0
    await lab.execution(EFFECT).run(picked)
    assert await lab.enqueue(Wake("effect", "a")) == 1


@pytest.mark.parametrize(
    ("attempts", "low_s", "high_s"), [(0, 4.0, 6.0), (1, 8.0, 12.0)], ids=["first", "second"]
)
async def test_a_failed_attempt_is_tried_again_later(
    lab: Lab, attempts: int, low_s: float, high_s: float
) -> None:
    await lab.enqueue(Wake("fail", "a"))
    await lab.execution(FAIL).run(await lab.pick("fail", "a", attempts=attempts))
    (row,) = await lab.rows()
    assert (row.status, row.attempts, row.owner) == ("queued", 1, None)
    assert low_s - 1 < row.delay_s < high_s


async def test_the_third_failure_is_a_dead_letter_with_all_there_is_to_know(lab: Lab) -> None:
    await lab.enqueue(Wake("fail", "a"))
    await lab.execution(FAIL).run(await lab.pick("fail", "a", attempts=2))
    async with lab.database.transaction() as tx:
        (letter,) = await list_dead_letters(tx)
    assert (letter.kind, letter.key, letter.attempts) == ("fail", "a", 3)
    assert (letter.error_class, letter.message) == ("Flawed", "a is flawed")
    assert "raise Flawed" in letter.stack
    assert [row.status for row in await lab.rows()] == ["successful"]


async def test_a_letter_tells_in_product_time_when_the_work_was_first_tried(lab: Lab) -> None:
    clock = VirtualClock(NOW)
    lab.clock = clock
    await lab.enqueue(Wake("fail", "a"))
    async with await connect(lab.url, name="stepper") as connection:
        stepper = Stepper(lab.execution(FAIL), connection, uuid4(), heartbeat_timeout_s=60)
        for _ in range(3):
            async with lab.database.transaction() as tx:
                await tx.execute(Q["end_delay"])
            job = await stepper.claim()
            assert job is not None
            await stepper.execute(job)
            clock.advance(3600)
    async with lab.database.transaction() as tx:
        (letter,) = await list_dead_letters(tx)
    assert (letter.first_tried_at, letter.died_at) == (NOW, NOW + timedelta(hours=2))


async def test_a_kind_can_have_its_own_number_of_attempts(lab: Lab) -> None:
    kind = Kind("fail", str, fail, retry=RetryPolicy(attempts_by_class={"Flawed": 1}))
    await lab.enqueue(Wake("fail", "a"))
    await lab.execution(kind).run(await lab.pick("fail", "a"))
    async with lab.database.transaction() as tx:
        assert len(await list_dead_letters(tx)) == 1


async def test_an_error_that_no_retry_mends_dies_at_once(lab: Lab) -> None:
    async def gone(job: Job[str]) -> None:
        raise Gone("the channel was deleted")

    await lab.enqueue(Wake("gone", "a"))
    await lab.execution(Kind("gone", str, gone)).run(await lab.pick("gone", "a"))
    async with lab.database.transaction() as tx:
        (letter,) = await list_dead_letters(tx)
    assert (letter.error_class, letter.attempts) == ("Gone", 1)


async def test_a_rate_limit_waits_and_is_no_attempt(lab: Lab) -> None:
    async def limited(job: Job[str]) -> None:
        raise RateLimited(retry_after_s=90)

    await lab.enqueue(Wake("limited", "a"))
    await lab.execution(Kind("limited", str, limited)).run(await lab.pick("limited", "a", attempts=2))
    (row,) = await lab.rows()
    assert (row.status, row.attempts) == ("queued", 0)
    assert 80 < row.delay_s <= 90


async def test_a_key_that_makes_no_sense_is_a_dead_letter(lab: Lab) -> None:
    async def never(job: Job[int]) -> None:
        raise AssertionError("not reached")

    await lab.enqueue(Wake("number", "seven"))
    await lab.execution(Kind("number", int, never)).run(await lab.pick("number", "seven"))
    async with lab.database.transaction() as tx:
        (letter,) = await list_dead_letters(tx)
    assert letter.error_class == "Malformed"
    assert "'seven' is not a key" in letter.message


@pytest.mark.parametrize("ending", ["success", "effects", "group", "failure", "death", "wait"])
async def test_a_stale_worker_changes_nothing(lab: Lab, ending: str) -> None:
    async def finish_in_group(job: Job[str]) -> None:
        await job.finish_with(effect(job.key))

    async def succeed(job: Job[str]) -> None:
        return

    async def limited(job: Job[str]) -> None:
        raise RateLimited(retry_after_s=90)

    handlers = {
        "success": succeed,
        "effects": finish_with_effect,
        "group": finish_in_group,
        "failure": fail,
        "death": fail,
        "wait": limited,
    }
    await lab.enqueue(Wake("job", "a"))
    picked = await lab.pick("job", "a", attempts=2 if ending == "death" else 0)
    new_owner = await lab.steal()
    before = await lab.rows()
    await lab.execution(Kind("job", str, handlers[ending])).run(picked)
    after = await lab.rows()
    assert [(row.status, row.owner, row.attempts) for row in after] == [("picked", new_owner, 0)]
    assert [row.id for row in after] == [row.id for row in before]
    assert await lab.effects() == []
    async with lab.database.transaction() as tx:
        assert await list_dead_letters(tx) == []


async def test_a_cancelled_job_can_do_nothing_any_more(lab: Lab, database: Database) -> None:
    await lab.enqueue(Wake("effect", "a"))
    picked = await lab.pick("effect", "a")
    async with database.transaction() as tx:
        assert await cancel(tx, [Wake("effect", "a")]) == 1
    await lab.execution(EFFECT).run(picked)
    assert await lab.effects() == []
    assert [row.status for row in await lab.rows()] == ["canceled"]
