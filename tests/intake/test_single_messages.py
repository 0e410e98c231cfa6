"""One message fetched by its key: what was asked of it is done only when its answer was stored."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from bench import Bench
from missing import STREAM, Missing, post, retry_all

from headgate.domain.errors import UserError
from headgate.domain.streams.messages import LiveEvent, Message
from headgate.domain.streams.misses import MISS_CAP, PAUSES_S
from headgate.intake.streams.misses import retry_misses
from headgate.testing import file_of
from headgate.testing.platform.errors import SimTimeout
from headgate.testing.platform.odd_answers import fetch_plainly

HAN = "".join(chr(0x4E00 + n) for n in range(480))
"""480 characters that take 1,440 bytes."""


def with_attachment_key(message: Message, key: str) -> Message:
    return replace(message, attachments=tuple(replace(each, key=key) for each in message.attachments))


async def edit_heard(bench: Bench, key: str) -> None:
    live = await bench.live()
    live.take(LiveEvent("edit", "packs", key=key))
    await live.flush()


async def test_a_miss_survives_its_channel_being_switched_off_during_the_fetch(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("pack.zip", b"x")])
    bench.world.garble("packs", message.key)
    await bench.follow()
    await bench.catch_up()
    bench.world.garble("packs", message.key, garbled=False)
    bench.at_next("message.after_effect", lambda: bench.switch(on=False))
    await bench.rest(PAUSES_S[1])
    assert await bench.column("titles", key="packs") == []
    (miss,) = (await bench.explain()).misses
    assert miss.message_key == message.key
    await bench.switch(on=True)
    await bench.rest()
    assert await bench.column("titles", key="packs") == ["pack"]
    assert (await bench.explain()).misses == []


async def test_an_edit_survives_its_channel_being_switched_off_during_the_recheck(bench: Bench) -> None:
    message = bench.world.post("packs", text="the file comes later")
    await bench.follow()
    await bench.catch_up()
    bench.world.edit("packs", message.key, files=[file_of("late.zip", b"y")])
    await edit_heard(bench, message.key)
    bench.at_next("message.after_effect", lambda: bench.switch(on=False))
    await bench.work()
    assert (await bench.explain()).stream.rechecks == 1
    await bench.switch(on=True)
    await bench.rest()
    assert await bench.column("titles", key="packs") == ["late"]
    assert (await bench.explain()).stream.rechecks == 0


async def test_a_message_that_the_tables_cannot_hold_stays_a_miss(
    missing: Missing,
) -> None:
    message = post(missing, "pack")
    odd = with_attachment_key(message, "k" * 2000)
    await missing.accept(odd)
    missing.world.on_message = lambda _: odd
    for attempts, pause_s in enumerate(PAUSES_S[: MISS_CAP - 1], start=2):
        missing.clock.advance(pause_s)
        await missing.work()
        (miss,) = await missing.misses()
        assert (miss.message_key, miss.attempts) == (message.key, attempts)
    (miss,) = await missing.misses()
    assert (miss.state, miss.error_message) == ("abandoned", "the key of an attachment cannot be stored")
    missing.world.on_message = fetch_plainly
    assert await retry_all(missing) == 1
    await missing.work()
    assert await missing.misses() == []
    assert await missing.column("titles") == ["pack"]


@pytest.mark.parametrize("of", ["message", "attachment"])
async def test_a_key_of_too_many_bytes_does_not_hold_up_the_page(missing: Missing, of: str) -> None:
    fine, pack = post(missing, "fine"), post(missing, "pack")
    odd = replace(pack, key=HAN) if of == "message" else with_attachment_key(pack, HAN)
    await missing.accept(fine, odd)
    assert await missing.column("sightings") == [f"{fine.key}/a0"]
    assert len(await missing.misses()) == 1


async def test_two_keys_that_begin_alike_and_cannot_be_stored_are_two_misses(missing: Missing) -> None:
    message = post(missing, "pack")
    await missing.accept(replace(message, key=f"{HAN}1"), replace(message, key=f"{HAN}2"))
    assert len(await missing.misses()) == 2


async def test_a_message_whose_key_cannot_be_stored_is_never_taken_for_deleted(missing: Missing) -> None:
    await missing.accept(replace(post(missing, "pack"), key=HAN))
    for pause_s in PAUSES_S[: MISS_CAP - 1]:
        missing.clock.advance(pause_s)
        await missing.work()
    (miss,) = await missing.misses()
    assert miss.state == "abandoned"
    # Nobody was asked for a key that no platform knows.
    assert missing.calls("message") == 0


@pytest.mark.parametrize("later_s", [0, 1])
async def test_a_fetch_from_before_a_deletion_does_not_undo_it(bench: Bench, later_s: int) -> None:
    message = bench.world.post("packs", files=[file_of("pack.zip", b"x")])
    await bench.follow()
    await bench.catch_up()
    bench.world.edit("packs", message.key, files=[file_of("other.zip", b"y")])
    await edit_heard(bench, message.key)

    async def delete() -> None:
        bench.clock.advance(later_s)
        bench.world.delete("packs", message.key)
        live = await bench.live()
        live.take(LiveEvent("delete", "packs", key=message.key))
        await live.flush()
        bench.clock.advance(1)

    bench.at_next("message.after_effect", delete)
    await bench.work()
    # What the answer held is stored, and that the message is gone is still known.
    assert "other" in await bench.column("titles", key="packs")
    assert await bench.column("deleted") == [message.key]


async def test_an_outage_uses_up_no_attempts(bench: Bench) -> None:
    messages = [bench.world.post("packs", files=[file_of(f"{n}.zip", b"x")]) for n in range(3)]
    for message in messages:
        bench.world.garble("packs", message.key)
    await bench.follow()
    await bench.catch_up()
    before = (await bench.explain()).misses

    async def outage(point: str) -> None:
        if point.endswith(".before_effect"):
            raise SimTimeout(point)

    bench.world.on_point = outage
    for _ in range(10):
        await bench.rest(3600)
    after = (await bench.explain()).misses
    assert [(miss.message_key, miss.attempts) for miss in after] == [
        (miss.message_key, miss.attempts) for miss in before
    ]
    bench.mend()
    for message in messages:
        bench.world.garble("packs", message.key, garbled=False)
    await bench.rest()
    assert (await bench.explain()).misses == []


async def test_a_message_that_alone_cannot_be_had_is_given_up(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("pack.zip", b"x")])
    bench.world.garble("packs", message.key)
    await bench.follow()
    await bench.catch_up()
    bench.fail("message.before_effect", SimTimeout("message"))
    for pause_s in PAUSES_S[:MISS_CAP]:
        await bench.rest(pause_s)
    (miss,) = (await bench.explain()).misses
    assert (miss.state, miss.attempts, miss.error_class) == ("abandoned", MISS_CAP, "Transient")


async def test_a_channel_that_an_account_lost_uses_up_no_attempts(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("pack.zip", b"x")])
    bench.world.garble("packs", message.key)
    await bench.follow()
    await bench.catch_up()
    (before,) = (await bench.explain()).misses
    bench.world.kick("reader", "packs")
    for _ in range(6):
        await bench.rest()
    (after,) = (await bench.explain()).misses
    assert (after.attempts, after.state) == (before.attempts, "open")


async def test_a_retry_on_a_channel_that_is_off_is_refused_with_the_reason(missing: Missing) -> None:
    message = post(missing, "pack")
    await missing.accept(unreadable=[message.key])
    await missing.change("switch_off")
    (before,) = await missing.misses()
    now = missing.clock.now() + timedelta(hours=1)
    for chosen, channel_id in (([before.id], None), (None, missing.channel_id)):
        with pytest.raises(UserError, match=f"disabled for this channel.*Enable '{STREAM}'"):
            async with missing.database.transaction() as tx:
                await retry_misses(tx, chosen, channel_id=channel_id, now=now)
    async with missing.database.transaction() as tx:
        retried = await retry_misses(tx, now=now)
    assert (retried.ids, retried.left_out) == ([], 1)
    assert await missing.misses() == [before]
    assert await missing.carry_out() == 0
