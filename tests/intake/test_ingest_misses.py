"""Sightings of which no item can be made: each a miss of its own, tried again up to the cap."""

from __future__ import annotations

from dataclasses import replace

from missing import STREAM, Missing, fail_until_abandoned, post, retry_all

from headgate.domain.streams.misses import MISS_CAP
from headgate.intake.streams.misses import RECHECK_S
from headgate.testing import file_of


async def test_a_row_that_fails_does_not_stop_its_neighbours(missing: Missing) -> None:
    await missing.change("refuse")
    await missing.accept(*(post(missing, name) for name in ("good-1", "bad", "good-2", "bad too", "good-3")))
    await missing.work()
    assert await missing.column("titles") == ["good-1", "good-2", "good-3"]
    misses = await missing.misses()
    assert sorted(miss.file_name for miss in misses) == ["bad too.zip", "bad.zip"]
    assert {(miss.stage, miss.error_class, miss.attempts) for miss in misses} == {("ingest", "Refused", 1)}
    assert 'violates check constraint "refused"' in misses[0].error_message
    assert await missing.letters() == []


async def test_what_comes_later_is_ingested_beside_a_miss(missing: Missing) -> None:
    await missing.change("refuse")
    await missing.accept(post(missing, "bad"))
    await missing.work()
    await missing.accept(post(missing, "good"))
    await missing.work()
    assert await missing.column("titles") == ["good"]
    assert [miss.attempts for miss in await missing.misses()] == [1]


async def test_a_name_that_no_index_holds_is_a_miss(missing: Missing) -> None:
    message = post(missing, "good")
    (attachment,) = message.attachments
    odd = "".join(chr(0x4E00 + number) for number in range(9000))
    huge = replace(attachment, key="9", content_id=odd)
    await missing.accept(replace(message, attachments=(attachment, huge)))
    await missing.work()
    assert await missing.column("titles") == ["good"]
    (miss,) = await missing.misses()
    assert "index row" in miss.error_message


async def test_a_missed_sighting_is_fetched_again_and_then_ingested(missing: Missing) -> None:
    await missing.change("refuse")
    await missing.accept(post(missing, "bad"))
    await missing.work()
    missing.world.expire_links(STREAM)
    await missing.change("permit")
    missing.clock.advance(60)
    await missing.work()
    assert await missing.column("titles") == ["bad"]
    assert await missing.misses() == []
    assert await missing.column("missed") == []
    assert (missing.calls("message"), missing.calls("read")) == (1, 0)


async def test_ingesting_that_fails_again_counts_and_gives_up_at_the_cap(missing: Missing) -> None:
    await missing.change("refuse")
    await missing.accept(post(missing, "bad"))
    await missing.work()
    await fail_until_abandoned(missing)
    (miss,) = await missing.misses()
    assert (miss.state, miss.attempts, miss.due_at) == ("abandoned", MISS_CAP, None)
    assert missing.calls("message") == MISS_CAP - 1
    assert await missing.column("missed") == ["bad.zip"]
    await missing.change("permit")
    await retry_all(missing)
    await missing.carry_out()
    assert await missing.column("titles") == ["bad"]
    assert await missing.misses() == []


async def test_all_that_was_missed_of_a_message_needs_one_call(missing: Missing) -> None:
    await missing.change("refuse")
    files = [file_of(f"bad-{number}.zip", bytes([number])) for number in range(3)]
    await missing.accept(missing.world.post(STREAM, files=files))
    await missing.work()
    assert len(await missing.misses()) == 3
    await missing.change("permit")
    missing.clock.advance(60)
    await missing.work()
    assert await missing.misses() == []
    assert missing.calls("message") == 1


async def test_an_edit_that_mends_a_missed_sighting_is_ingested_at_once(missing: Missing) -> None:
    await missing.change("refuse")
    message = post(missing, "bad")
    await missing.accept(message)
    await missing.work()
    (attachment,) = message.attachments
    missing.clock.advance(5)
    mended = replace(attachment, file_name="mended.zip")
    await missing.accept(replace(message, attachments=(mended,), edited_at=missing.clock.now()))
    await missing.work()
    assert await missing.column("titles") == ["mended"]
    assert await missing.misses() == []
    assert missing.calls("message") == 0


async def test_a_miss_whose_sighting_is_not_wanted_any_more_goes_by_itself(missing: Missing) -> None:
    await missing.change("refuse")
    await missing.accept(post(missing, "bad"))
    await missing.work()
    await missing.change("reject")
    missing.clock.advance(60)
    await missing.work()
    assert await missing.misses() == []
    assert missing.calls("message") == 0


async def test_a_try_that_went_on_to_ingesting_is_not_forgotten(missing: Missing) -> None:
    await missing.change("refuse")
    await missing.accept(post(missing, "bad"))
    await missing.work()
    missing.clock.advance(60)
    await missing.tick()
    stepper = await missing.stepper()
    job = await stepper.claim()
    assert job is not None
    await stepper.execute(job)
    # The message was fetched, and its sighting released; then a change of settings rejects it.
    assert await missing.column("missed") == []
    await missing.change("reject")
    await missing.work()
    assert len(await missing.misses()) == 1
    missing.clock.advance(RECHECK_S)
    await missing.work()
    assert await missing.misses() == []
    assert missing.calls("message") == 1
