"""Misses: what cannot be read or ingested is tried again by itself, and never holds up anything else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from missing import START, STREAM, Missing, fail_until_abandoned, post, retry_all

from headgate.domain.streams.messages import Message
from headgate.domain.streams.misses import MISS_CAP, GiveUp, Retry, list_tries, next_try
from headgate.domain.text import storable
from headgate.intake.streams.misses import NOBODY_CAN_S, Retried, retry_misses
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Kinds
from headgate.storage.jobs.engine import list_jobs
from headgate.storage.streams.misses import count_misses, fail_try, get_miss, list_misses
from headgate.testing import FaultRates
from headgate.testing.platform.errors import SimTimeout


async def garbled(missing: Missing, name: str = "pack") -> Message:
    """Post a message that cannot be parsed, and let a page find it so."""
    message = post(missing, name)
    missing.world.garble(STREAM, message.key)
    await missing.accept(unreadable=[message.key])
    return message


@pytest.mark.once
@pytest.mark.parametrize(("attempts", "minutes"), [(1, 1), (2, 5), (3, 30), (4, 120)])
def test_the_pauses_between_tries_grow(attempts: int, minutes: int) -> None:
    assert next_try(attempts, START) == Retry(START + timedelta(minutes=minutes))


@pytest.mark.once
def test_at_the_cap_it_is_given_up() -> None:
    assert next_try(MISS_CAP, START) == GiveUp(MISS_CAP)
    assert next_try(1, START, cap=1) == GiveUp(1)
    assert next_try(99, START, cap=100) == Retry(START + timedelta(days=1))


@pytest.mark.once
def test_the_listed_tries_end_where_it_is_given_up() -> None:
    tries = list_tries(START)
    assert [next_try(number, START) for number in range(1, MISS_CAP)] == [Retry(at) for at in tries]
    assert list_tries(START, cap=1) == []


async def test_an_unreadable_message_is_a_miss_of_its_own(missing: Missing) -> None:
    message = await garbled(missing)
    (miss,) = await missing.misses()
    assert (miss.message_key, miss.stage, miss.state, miss.attempts) == (message.key, "read", "open", 1)
    assert miss.due_at == START + timedelta(minutes=1)
    assert await missing.column("sightings") == []


async def test_seeing_it_unreadable_again_is_no_attempt(missing: Missing) -> None:
    message = await garbled(missing)
    before = await missing.misses()
    missing.clock.advance(30)
    await missing.accept(unreadable=[message.key, message.key])
    assert await missing.misses() == before


async def test_it_is_tried_alone_by_its_key_and_nothing_is_read(missing: Missing) -> None:
    message = await garbled(missing)
    missing.world.garble(STREAM, message.key, garbled=False)
    assert await missing.work() == 0
    missing.clock.advance(60)
    await missing.work()
    assert await missing.misses() == []
    assert await missing.column("titles") == ["pack"]
    (call,) = missing.world.log.calls("message")
    assert call.place == f"{STREAM}/{message.key}"
    assert missing.calls("read") == 0


async def test_a_message_that_is_read_elsewhere_needs_no_try(missing: Missing) -> None:
    message = await garbled(missing)
    await missing.accept(message)
    assert await missing.misses() == []
    missing.clock.advance(60)
    await missing.work()
    assert missing.calls("message") == 0


async def test_it_is_given_up_at_the_cap_and_stays_visible(missing: Missing) -> None:
    await garbled(missing)
    await fail_until_abandoned(missing)
    (miss,) = await missing.misses()
    assert (miss.state, miss.attempts, miss.due_at) == ("abandoned", MISS_CAP, None)
    assert miss.error_class == "Malformed"
    assert "cannot be parsed" in miss.error_message
    assert missing.calls("message") == MISS_CAP - 1
    missing.clock.advance(30 * 86_400)
    assert await missing.work() == 0
    assert await missing.letters() == []


async def test_a_persons_retry_acts_at_once_whatever_was_decided(missing: Missing) -> None:
    message = await garbled(missing)
    await fail_until_abandoned(missing)
    missing.world.garble(STREAM, message.key, garbled=False)
    assert await retry_all(missing) == 1
    async with missing.database.transaction() as tx:
        (job,) = await list_jobs(tx, kind="miss", limit=10)
    assert job.priority == 10
    await missing.carry_out()
    assert await missing.misses() == []
    assert await missing.column("titles") == ["pack"]


async def test_a_retry_in_the_pause_does_not_wait_for_its_end(missing: Missing) -> None:
    message = await garbled(missing)
    missing.world.garble(STREAM, message.key, garbled=False)
    await retry_all(missing)
    await missing.carry_out()
    assert await missing.misses() == []


async def test_a_retry_that_fails_begins_to_count_anew(missing: Missing) -> None:
    await garbled(missing)
    await fail_until_abandoned(missing)
    await retry_all(missing)
    await missing.carry_out()
    (miss,) = await missing.misses()
    assert (miss.state, miss.attempts) == ("open", 1)
    assert miss.due_at == missing.clock.now() + timedelta(minutes=1)


async def test_a_retry_during_a_failing_try_is_not_lost(missing: Missing) -> None:
    await garbled(missing)
    missing.clock.advance(60)

    async def ask(point: str) -> None:
        if point == "message.before_effect":
            missing.world.on_point = None
            await retry_all(missing)

    missing.world.on_point = ask
    await missing.work()
    assert missing.calls("message") == 2
    (miss,) = await missing.misses()
    assert (miss.state, miss.attempts) == ("open", 1)


async def test_a_retry_and_the_end_of_a_try_never_wait_for_each_other(missing: Missing) -> None:
    await garbled(missing)
    missing.clock.advance(60)
    await missing.tick()
    holds_the_job = asyncio.Event()

    async def ask() -> int:
        await holds_the_job.wait()
        return await retry_all(missing)

    async def end_slowly(job: Job[UUID]) -> None:
        async with job.finish() as tx:
            holds_the_job.set()
            await asyncio.wait({asking}, timeout=0.3)
            miss = await get_miss(tx, job.key)
            assert miss is not None
            await fail_try(tx, miss, error_class="Transient", error_message="", now=missing.clock.now())

    asking = asyncio.create_task(ask())
    stepper = await missing.stepper()
    slow = replace(stepper.execution, kinds=Kinds([Kind("miss", UUID, end_slowly)]))
    job = await replace(stepper, execution=slow).claim()
    assert job is not None
    await replace(stepper, execution=slow).execute(job)
    assert await asking == 1
    (miss,) = await missing.misses()
    assert (miss.state, miss.attempts, miss.due_at) == ("open", 0, missing.clock.now())
    await missing.carry_out()
    assert missing.calls("message") == 1


async def test_a_retry_of_a_channel_leaves_the_others_alone(missing: Missing) -> None:
    await garbled(missing)
    async with missing.database.transaction() as tx:
        assert await retry_misses(tx, channel_id=uuid4(), now=missing.clock.now()) == Retried([])
        retried = await retry_misses(tx, channel_id=missing.channel_id, now=missing.clock.now())
    assert (len(retried.ids), retried.left_out) == (1, 0)


async def test_a_message_that_was_deleted_is_no_miss_any_more(missing: Missing) -> None:
    message = await garbled(missing)
    missing.world.delete(STREAM, message.key)
    missing.clock.advance(60)
    await missing.work()
    assert await missing.misses() == []
    assert missing.calls("message") == 1


async def test_a_rate_limit_is_no_attempt(missing: Missing) -> None:
    await garbled(missing)
    missing.world.faults.resume(FaultRates(flood=1.0))
    missing.clock.advance(60)
    await missing.work()
    (miss,) = await missing.misses()
    assert miss.attempts == 1
    assert await missing.letters() == []
    async with missing.database.transaction() as tx:
        (job,) = await list_jobs(tx, kind="miss", limit=10)
    assert (job.status, job.attempts) == ("queued", 0)


async def test_a_call_without_an_answer_is_an_attempt_of_that_miss_alone(missing: Missing) -> None:
    first = await garbled(missing, "first")
    missing.clock.advance(30)
    await garbled(missing, "second")

    async def hang_up(point: str) -> None:
        if point == "message.before_effect":
            raise SimTimeout(point)

    missing.world.on_point = hang_up
    missing.clock.advance(30)
    await missing.work()
    attempts = {miss.message_key: (miss.attempts, miss.error_class) for miss in await missing.misses()}
    assert attempts.pop(first.key) == (2, "Transient")
    assert list(attempts.values()) == [(1, "Malformed")]


@pytest.mark.parametrize(("happening", "state"), [("logout", "needs_login"), ("ban", "banned")])
async def test_without_an_account_that_can_the_miss_waits(
    missing: Missing, happening: str, state: str
) -> None:
    message = await garbled(missing)
    missing.world.garble(STREAM, message.key, garbled=False)
    getattr(missing.world, happening)("reader")
    missing.clock.advance(60)
    await missing.work()
    (miss,) = await missing.misses()
    assert miss.attempts == 1
    assert miss.due_at == missing.clock.now() + timedelta(seconds=NOBODY_CAN_S)
    assert await missing.column("accounts") == [state]
    calls = missing.calls("message")
    missing.clock.advance(NOBODY_CAN_S)
    await missing.work()
    assert missing.calls("message") == calls


async def test_a_channel_that_is_switched_off_is_not_asked(missing: Missing) -> None:
    await garbled(missing)
    await missing.change("switch_off")
    missing.clock.advance(60)
    await missing.work()
    assert missing.calls("message") == 0
    assert len(await missing.misses()) == 1


async def test_a_crash_between_fetch_and_write_repeats_harmlessly(missing: Missing) -> None:
    message = await garbled(missing)
    missing.world.garble(STREAM, message.key, garbled=False)
    missing.clock.advance(60)
    await missing.tick()

    async def crash(point: str) -> None:
        if point == "message.after_effect":
            raise KeyboardInterrupt

    missing.world.on_point = crash
    stepper = await missing.stepper()
    job = await stepper.claim()
    assert job is not None
    with pytest.raises(KeyboardInterrupt):
        await stepper.execute(job)
    missing.world.on_point = None
    assert [miss.attempts for miss in await missing.misses()] == [1]
    await stepper.execute(job)
    await missing.work()
    assert await missing.misses() == []
    assert await missing.column("titles") == ["pack"]


async def test_they_are_counted_by_channel_and_state(missing: Missing) -> None:
    await garbled(missing, "first")
    await fail_until_abandoned(missing)
    for name in ("second", "third"):
        await garbled(missing, name)
    async with missing.database.transaction() as tx:
        counts = await count_misses(tx)
    assert [(count.channel_title, count.state, count.misses) for count in counts] == [
        (STREAM, "abandoned", 1),
        (STREAM, "open", 2),
    ]


async def test_pages_of_misses_are_whole_and_do_not_overlap(missing: Missing) -> None:
    await missing.accept(unreadable=[f"{number}" for number in range(7)])
    async with missing.database.transaction() as tx:
        first = await list_misses(tx, channel_id=missing.channel_id, state="open", limit=4)
        second = await list_misses(tx, below=first[-1].id, limit=4)
        assert await list_misses(tx, state="abandoned") == []
    keys = [miss.message_key for miss in (*first, *second)]
    assert sorted(keys) == [f"{number}" for number in range(7)]


async def test_a_text_with_a_nul_character_does_not_break_a_page(missing: Missing) -> None:
    message = post(missing, "good")
    (attachment,) = message.attachments
    odd = replace(attachment, key="9", file_name="odd\x00\ud83d.zip", content_id="x\x00")
    await missing.accept(replace(message, author="who\x00", attachments=(attachment, odd)))
    await missing.work()
    assert await missing.column("titles") == ["good", "odd\ufffd"]
    assert storable("as it is") == "as it is"


async def test_the_longest_due_comes_first(missing: Missing) -> None:
    late = await garbled(missing, "late")
    missing.clock.advance(10)
    later = await garbled(missing, "later")
    missing.clock.advance(60)
    await missing.work()
    assert [call.place for call in missing.world.log.calls("message")] == [
        f"{STREAM}/{late.key}",
        f"{STREAM}/{later.key}",
    ]
