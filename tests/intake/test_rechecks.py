"""Rechecks: one message again by itself; a wish is fulfilled only by a fetch that began after it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from missing import STREAM, Missing

from headgate.domain.streams.messages import Message
from headgate.domain.streams.misses import MISS_CAP, PAUSES_S
from headgate.intake.streams.misses import NOBODY_CAN_S, retry_misses
from headgate.intake.streams.rechecks import RecheckKey
from headgate.storage.streams.rechecks import ask_rechecks, get_recheck
from headgate.testing import FaultRates, file_of


async def accepted(missing: Missing, name: str = "first") -> Message:
    message = missing.world.post(STREAM, files=[file_of(f"{name}.zip", name.encode())])
    await missing.accept(message)
    await missing.work()
    return message


async def ask(missing: Missing, *keys: str, in_s: float = 0.0) -> None:
    now = missing.clock.now()
    due_at = now + timedelta(seconds=in_s)
    async with missing.database.transaction() as tx:
        await ask_rechecks(tx, missing.channel_id, keys, reason="edited", due_at=due_at, now=now)


def edit(missing: Missing, message: Message, name: str) -> None:
    missing.clock.advance(1)
    missing.world.edit(STREAM, message.key, files=[file_of(f"{name}.zip", name.encode())])


async def attempts_of(missing: Missing, message: Message) -> int:
    async with missing.database.transaction() as tx:
        wish = await get_recheck(tx, missing.channel_id, message_key=message.key)
    assert wish is not None
    return wish.attempts


async def test_an_edit_that_adds_a_file_is_caught_by_one_call(missing: Missing) -> None:
    message = missing.world.post(STREAM, text="soon")
    await missing.accept(message)
    edit(missing, message, "late")
    await ask(missing, message.key)
    await missing.work()
    assert await missing.column("titles") == ["late"]
    assert await missing.column("rechecks") == []
    assert (missing.calls("message"), missing.calls("read")) == (1, 0)


async def test_many_wishes_for_one_message_are_one_fetch(missing: Missing) -> None:
    message = await accepted(missing)
    await ask(missing, message.key, message.key)
    await ask(missing, message.key)
    await missing.work()
    assert missing.calls("message") == 1


async def test_an_edit_during_the_fetch_is_not_lost(missing: Missing) -> None:
    message = await accepted(missing)
    edit(missing, message, "second")
    await ask(missing, message.key)

    async def edit_again(point: str) -> None:
        if point == "message.after_effect":
            missing.world.on_point = None
            edit(missing, message, "third")
            await ask(missing, message.key)

    missing.world.on_point = edit_again
    await missing.work()
    assert await missing.column("titles") == ["first", "second", "third"]
    assert await missing.column("rechecks") == []
    assert missing.calls("message") == 2


async def test_an_edit_during_a_failing_fetch_is_not_lost(missing: Missing) -> None:
    message = await accepted(missing)
    missing.world.garble(STREAM, message.key)
    await ask(missing, message.key)

    async def mend(point: str) -> None:
        if point == "message.before_effect":
            missing.world.on_point = mended
            await ask(missing, message.key)

    async def mended(point: str) -> None:
        if point == "message.began":
            missing.world.garble(STREAM, message.key, garbled=False)

    missing.world.on_point = mend
    await missing.work()
    assert await missing.column("rechecks") == []
    assert missing.calls("message") == 2


async def test_a_wish_can_be_for_later(missing: Missing) -> None:
    message = await accepted(missing)
    await ask(missing, message.key, in_s=60)
    assert await missing.work() == 0
    missing.clock.advance(60)
    await missing.work()
    assert await missing.column("rechecks") == []


async def test_a_message_that_is_gone_is_marked_and_its_item_stays(missing: Missing) -> None:
    message = await accepted(missing)
    missing.world.delete(STREAM, message.key)
    await ask(missing, message.key)
    await missing.work()
    assert await missing.column("deleted") == [message.key]
    assert await missing.column("titles") == ["first"]
    assert await missing.column("rechecks") == []


async def test_at_the_cap_it_becomes_a_miss_that_a_person_can_retry(missing: Missing) -> None:
    message = await accepted(missing)
    missing.world.garble(STREAM, message.key)
    await ask(missing, message.key)
    for pause_s in (0.0, *PAUSES_S[: MISS_CAP - 1]):
        missing.clock.advance(pause_s)
        await missing.work()
    assert missing.calls("message") == MISS_CAP
    assert await missing.column("rechecks") == []
    (miss,) = await missing.misses()
    assert (miss.stage, miss.state, miss.attempts) == ("read", "abandoned", MISS_CAP)
    missing.world.garble(STREAM, message.key, garbled=False)
    async with missing.database.transaction() as tx:
        await retry_misses(tx, [miss.id], now=missing.clock.now())
    await missing.carry_out()
    assert await missing.misses() == []


async def test_a_new_wish_begins_to_count_anew(missing: Missing) -> None:
    message = await accepted(missing)
    missing.world.garble(STREAM, message.key)
    await ask(missing, message.key)
    await missing.work()
    assert await attempts_of(missing, message) == 1
    await ask(missing, message.key)
    assert await attempts_of(missing, message) == 0
    await missing.work()
    assert missing.calls("message") == 2


async def test_a_rate_limit_lets_the_recheck_wait_and_counts_nothing(missing: Missing) -> None:
    message = await accepted(missing)
    await ask(missing, message.key)
    missing.world.faults.resume(FaultRates(flood=1.0))
    await missing.work()
    assert await attempts_of(missing, message) == 0
    assert await missing.letters() == []


async def test_without_an_account_that_can_the_recheck_waits(missing: Missing) -> None:
    message = await accepted(missing)
    missing.world.logout("reader")
    await ask(missing, message.key)
    await missing.work()
    assert await attempts_of(missing, message) == 0
    assert await missing.column("accounts") == ["needs_login"]
    calls = missing.calls("message")
    missing.clock.advance(NOBODY_CAN_S)
    await missing.work()
    assert missing.calls("message") == calls


async def test_a_crash_between_fetch_and_write_leaves_the_wish(missing: Missing) -> None:
    message = await accepted(missing)
    edit(missing, message, "second")
    await ask(missing, message.key)
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
    assert await missing.column("rechecks") == [message.key]
    await stepper.execute(job)
    await missing.work()
    assert await missing.column("titles") == ["first", "second"]
    assert await missing.column("rechecks") == []


@pytest.mark.once
def test_the_key_of_a_message_may_hold_anything() -> None:
    key = RecheckKey(uuid4(), "$event/with:slash")
    assert RecheckKey.parse(str(key)) == key


@pytest.mark.once
@pytest.mark.parametrize("text", ["", "x/1", str(UUID(int=1)), f"{UUID(int=1)}/"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        RecheckKey.parse(text)
