"""Live messages: in any order and number, of any channel, with or without anything in them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from bench import Bench

from headgate.domain.streams.messages import LiveEvent, Message, Span
from headgate.storage.streams.listeners import note_listening
from headgate.testing import file_of


def post(bench: Bench, name: str) -> Message:
    return bench.world.post("packs", files=[file_of(f"{name}.zip", name.encode())])


async def caught_up(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.catch_up()


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_messages_in_any_order_end_in_the_same_state(bench: Bench, order: tuple[int, ...]) -> None:
    await caught_up(bench)
    messages = [post(bench, name) for name in ("a", "b", "c")]
    for number in order:
        await bench.hear(messages[number])
    assert (await bench.stream()).head == messages[-1].position
    assert await bench.column("sightings") == bench.places()
    await bench.rest(60)
    explained = await bench.explain()
    assert explained.holes == []
    assert explained.coverage[0].forward_message_id == messages[-1].position
    assert explained.stream.total_messages_scanned == len(bench.world.messages("packs"))


async def test_an_old_message_does_not_lower_the_newest_id(bench: Bench) -> None:
    await caught_up(bench)
    old, new = post(bench, "old"), post(bench, "new")
    await bench.rest()
    before = (await bench.explain()).coverage
    await bench.hear(old)
    assert (await bench.explain()).coverage == before
    assert (await bench.stream()).head == new.position


async def test_several_messages_in_one_batch_raise_the_head_to_the_newest(bench: Bench) -> None:
    await bench.follow()
    first, second, third = (post(bench, name) for name in ("a", "b", "c"))
    await bench.hear(first, third, second)
    assert (await bench.stream()).head == third.position
    assert len(await bench.column("sightings")) == 3


async def test_a_message_that_comes_twice_is_one_sighting_and_one_item(bench: Bench) -> None:
    await caught_up(bench)
    message = post(bench, "twice")
    await bench.hear(message, message)
    await bench.hear(message)
    await bench.rest(60)
    assert (await bench.column("sightings")).count(f"{message.key}/a0") == 1
    assert (await bench.column("titles", key="packs")).count("twice") == 1
    assert (await bench.stream()).total_messages_scanned == len(bench.world.messages("packs"))


async def test_a_channel_that_was_never_scanned_takes_live_messages_and_still_reads_its_history(
    bench: Bench,
) -> None:
    bench.world.fill("packs", 120)
    await bench.follow()
    await bench.hear(post(bench, "live"))
    await bench.catch_up()
    assert await bench.column("sightings") == bench.places()
    assert (await bench.explain()).holes == []


async def test_an_event_of_a_disabled_channel_adds_nothing_and_leaves_the_status_alone(bench: Bench) -> None:
    await caught_up(bench)
    await bench.switch(on=False)
    before = await bench.explain()
    await bench.hear(post(bench, "unwanted"))
    live = await bench.live()
    edited = replace(bench.world.messages("packs")[0], edited_at=bench.clock.now())
    live.take(LiveEvent("edit", "packs", edited))
    live.take(LiveEvent("edit", "packs", key=edited.key))
    live.take(LiveEvent("delete", "packs", key=edited.key))
    await live.flush()
    assert await bench.explain() == before
    assert await bench.column("deleted") == []


async def test_what_a_disabled_channel_missed_is_read_when_it_is_enabled(bench: Bench) -> None:
    await caught_up(bench)
    await bench.switch(on=False)
    await bench.hear(post(bench, "meanwhile"))
    await bench.pass_time(60)
    await bench.switch(on=True)
    await bench.work()
    assert await bench.column("sightings") == bench.places()
    assert (await bench.explain()).holes == []


async def test_an_event_of_an_unknown_channel_is_passed_over(bench: Bench) -> None:
    await caught_up(bench)
    before = await bench.explain()
    await bench.hear(post(bench, "elsewhere"), stream="unknown")
    assert await bench.explain() == before


async def test_messages_without_files_count_and_cover_like_others(proving: Bench) -> None:
    await caught_up(proving)
    before = await proving.stream()
    chat = [proving.world.post("packs", text=f"chat {number}") for number in range(3)]
    live = await proving.live()
    start = chat[0].position
    for message in chat:
        live.take(LiveEvent("message", "packs", message, proven=Span(start, message.position + 1)))
    await live.flush()
    after = await proving.explain()
    assert after.stream.total_messages_scanned == before.total_messages_scanned + 3
    assert after.stream.message_count == before.message_count
    assert after.coverage[0].forward_message_id == chat[-1].position


async def test_a_hint_wakes_a_reading_once_for_a_burst(bench: Bench) -> None:
    await caught_up(bench)
    reads = bench.calls("read")
    for number in range(30):
        await bench.hear(post(bench, str(number)))
        await bench.rest(0.5)
    await bench.rest(40)
    assert bench.calls("read") - reads <= 2
    assert (await bench.explain()).holes == []


async def sign_of_life(bench: Bench) -> None:
    account = await bench.account()
    await bench.do(lambda tx: note_listening(tx, account.id, listening=True, now=bench.clock.now()))


async def test_an_update_that_was_dropped_silently_is_found_by_the_safety_net(bench: Bench) -> None:
    bench.world.fill("packs", 100, hours=20)
    await bench.follow()
    await bench.pass_time(60)
    await sign_of_life(bench)
    await bench.work()
    due_at = (await bench.stream()).due_at
    assert due_at is not None
    # A busy stream: without a listener it would be looked at every five minutes.
    assert timedelta(hours=3) < due_at - bench.clock.now() < timedelta(hours=5)
    dropped = post(bench, "dropped")
    await bench.pass_time(5 * 3600)
    await sign_of_life(bench)
    await bench.work()
    assert f"{dropped.key}/a0" in await bench.column("sightings")
    assert (await bench.explain()).holes == []


async def test_when_the_listener_ends_the_schedule_takes_over_at_once(bench: Bench) -> None:
    bench.world.fill("packs", 100, hours=20)
    await bench.follow()
    await bench.pass_time(60)
    async with bench.listening():
        await bench.work()
        during = (await bench.stream()).due_at
        assert during is not None
        assert during > bench.clock.now() + timedelta(hours=3)
        await bench.pass_time(600)
    after = (await bench.stream()).due_at
    assert after is not None
    assert after <= bench.clock.now()
    (account,) = await bench.rows("select listening_at from account")
    assert account["listening_at"] is None


async def test_a_live_message_that_cannot_be_parsed_is_a_miss(bench: Bench) -> None:
    await caught_up(bench)
    message = post(bench, "broken")
    live = await bench.live()
    live.take(LiveEvent("message", "packs", key=message.key))
    await live.flush()
    assert [miss.message_key for miss in (await bench.explain()).misses] == [message.key]
    await bench.rest()
    assert (await bench.explain()).misses == []
    assert await bench.column("sightings") == bench.places()


async def test_a_live_edit_brings_its_file_at_once(bench: Bench) -> None:
    await caught_up(bench)
    message = bench.world.post("packs", text="wait for it")
    await bench.hear(message)
    count = (await bench.stream()).message_count
    bench.world.edit("packs", message.key, files=[file_of("late.zip", b"x")])
    live = await bench.live()
    live.take(LiveEvent("edit", "packs", bench.world.messages("packs")[-1]))
    await live.flush()
    assert f"{message.key}/a0" in await bench.column("sightings")
    assert (await bench.stream()).message_count == count + 1


async def test_a_flood_of_live_messages_keeps_coverage_small(proving: Bench) -> None:
    await proving.follow()
    await proving.work()
    template = post(proving, "template")
    live = await proving.live()
    for batch in range(20):
        for number in range(500):
            position = template.position + 2 * (500 * batch + number)
            heard = replace(template, position=position, key=str(position), attachments=())
            live.take(LiveEvent("message", "packs", heard, proven=Span(position - 1, position + 1)))
        await live.flush()
    (covered,) = (await proving.explain()).coverage
    assert len(covered.spans) == 1
    assert (await proving.stream()).total_messages_scanned == 10_000


async def test_hints_of_one_connection_prove_nothing_about_what_came_between_them(bench: Bench) -> None:
    await caught_up(bench)
    live = await bench.live()
    first, dropped, second = post(bench, "first"), post(bench, "dropped"), post(bench, "second")
    for heard in (first, second):
        live.take(LiveEvent("message", "packs", heard))
    await live.flush()
    await bench.rest(40)
    assert f"{dropped.key}/a0" in await bench.column("sightings")


async def test_no_later_proof_covers_an_event_that_was_dropped(proving: Bench) -> None:
    await caught_up(proving)
    await proving.switch(on=False)
    live = await proving.live()
    dropped = post(proving, "dropped")
    live.take(LiveEvent("message", "packs", dropped, proven=Span(dropped.position, dropped.position + 1)))
    await live.flush()
    await proving.switch(on=True)
    heard = post(proving, "heard")
    live.take(LiveEvent("message", "packs", heard, proven=Span(dropped.position, heard.position + 1)))
    await live.flush()
    await proving.rest(60)
    assert f"{dropped.key}/a0" in await proving.column("sightings")


async def test_what_live_events_prove_ends_idleness(proving: Bench) -> None:
    await caught_up(proving)
    while (await proving.explain()).stream.idle_scans < 5:
        await proving.rest()
    message = post(proving, "live")
    live = await proving.live()
    start = (await proving.explain()).coverage[0].forward_message_id
    assert start is not None
    live.take(LiveEvent("message", "packs", message, proven=Span(start, message.position + 1)))
    await live.flush()
    assert (await proving.explain()).stream.idle_scans == 0


async def test_what_is_heard_during_a_look_ends_idleness(proving: Bench) -> None:
    await caught_up(proving)
    while (await proving.explain()).stream.idle_scans < 5:
        await proving.rest()
    live = await proving.live()

    async def arrive() -> None:
        message = post(proving, "live")
        proven = Span(message.position - 1, message.position + 1)
        start = (await proving.explain()).coverage[0].forward_message_id
        live.take(LiveEvent("message", "packs", message, proven=Span(start or 0, proven.end)))
        await live.flush()

    proving.at_next("heads.after_effect", arrive)
    await proving.rest(24 * 3600)
    assert (await proving.explain()).stream.idle_scans <= 1
