"""The life of a scan: how it begins, goes on, waits, is cancelled, fails and is remembered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import pytest
from bench import Bench, ProcessGone

from headgate.domain.errors import UserError
from headgate.domain.streams.messages import Span
from headgate.intake.channels import requests
from headgate.storage.channels import intake_settings
from headgate.storage.channels.requests import ScanWish
from headgate.storage.streams.explain import ScanLine
from headgate.testing import file_of
from headgate.testing.platform.errors import SimTimeout

DISABLED = "Channel scanning disabled for this channel"


async def newest_scan(bench: Bench) -> ScanLine:
    return (await bench.explain()).scans[0]


async def begin(bench: Bench, *, messages: int, pages: int) -> None:
    """Follow a stream with a history, and read so many pages of it."""
    bench.world.fill("packs", messages, shape="archive")
    await bench.follow()
    while bench.calls("read") < pages:
        await bench.step()


async def test_a_scan_is_queued_then_running_then_succeeded(bench: Bench) -> None:
    bench.world.fill("packs", 150)
    await bench.follow()
    await bench.ask()
    assert (await newest_scan(bench)).status == "QUEUED"
    while bench.calls("read") < 1:
        await bench.step()
    running = await newest_scan(bench)
    assert (running.status, running.pages, running.messages) == ("RUNNING", 1, 100)
    assert running.ended_at is None
    await bench.work()
    ended = await newest_scan(bench)
    assert (ended.id, ended.status, ended.error_message) == (running.id, "SUCCEEDED", "")
    explained = await bench.explain()
    (covered,) = explained.coverage
    messages = bench.world.messages("packs")
    assert covered.forward_message_id == messages[-1].position
    assert covered.backward_message_id is not None
    assert covered.backward_message_id <= messages[0].position


async def test_a_new_channel_begins_with_nothing_and_is_queued(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    before = await bench.explain()
    assert (before.stream.message_count, before.stream.total_messages_scanned) == (0, 0)
    assert [(one.forward_message_id, one.backward_message_id) for one in before.coverage] == [(None, None)]
    await bench.step()
    assert ((await newest_scan(bench)).status, (await newest_scan(bench)).reason) == (
        "QUEUED",
        "never_scanned",
    )


async def test_while_going_back_the_oldest_id_falls_with_each_page(bench: Bench) -> None:
    await begin(bench, messages=250, pages=1)
    oldest: list[int] = []
    for pages in (1, 2):
        while bench.calls("read") < pages:
            await bench.step()
        (covered,) = (await bench.explain()).coverage
        assert covered.backward_message_id is not None
        oldest.append(covered.backward_message_id)
    messages = bench.world.messages("packs")
    assert oldest == [messages[150].position, messages[50].position]
    assert (await bench.stream()).total_messages_scanned == 200


async def test_disabling_cancels_a_scan_and_enabling_goes_on_at_the_next_hole(bench: Bench) -> None:
    await begin(bench, messages=250, pages=1)
    await bench.switch(on=False)
    cancelled = await bench.explain()
    assert (cancelled.scans[0].status, cancelled.scans[0].error_message) == ("CANCELLED", DISABLED)
    assert (cancelled.scans[0].pages, cancelled.scans[0].messages) == (1, 100)
    assert cancelled.scans[0].ended_at == bench.clock.now()
    assert cancelled.stream.total_messages_scanned == 100
    assert (await bench.stream()).due_at is None
    await bench.rest()
    assert bench.calls("read") == 1
    await bench.switch(on=True)
    await bench.work()
    after = await bench.explain()
    assert after.coverage[0].ends == cancelled.coverage[0].ends
    assert (after.scans[0].status, after.scans[0].messages) == ("SUCCEEDED", 150)
    assert after.stream.total_messages_scanned == 250
    assert await bench.column("sightings") == bench.places()


@pytest.mark.parametrize("turn", [requests.disable, partial(intake_settings.switch_channel, enabled=False)])
async def test_a_page_that_arrives_after_disabling_adds_nothing(
    bench: Bench, turn: Callable[..., Awaitable[object]]
) -> None:
    await begin(bench, messages=250, pages=1)
    before = await bench.explain()

    async def disable() -> None:
        await bench.do(lambda tx: turn(tx, before.stream.id, now=bench.clock.now()))

    bench.at_next("read.after_effect", disable)
    await bench.work()
    after = await bench.explain()
    assert after.coverage == before.coverage
    assert after.stream.total_messages_scanned == 100
    assert (after.scans[0].status, after.scans[0].error_message) == ("CANCELLED", DISABLED)
    await bench.switch(on=True)
    await bench.work()
    assert await bench.column("sightings") == bench.places()


async def test_a_parent_that_is_switched_off_cancels_the_scans_below_it(bench: Bench) -> None:
    bench.world.add_stream("thread", parent="guild")
    bench.world.fill("thread", 250)
    await bench.follow()
    while bench.calls("read") < 1:
        await bench.step()
    await bench.switch("guild", on=False)
    explained = await bench.explain("thread")
    assert [(scan.status, scan.error_message) for scan in explained.scans] == [("CANCELLED", DISABLED)]
    await bench.switch("guild", on=True)
    await bench.work()
    assert await bench.column("sightings") == bench.places("thread")


async def test_a_scan_that_waits_for_a_head_is_cancelled_by_a_switch_further_up(bench: Bench) -> None:
    bench.world.add_stream("hall", parent="guild")
    bench.world.add_stream("thread", parent="hall")
    await bench.follow()
    await bench.catch_up()
    await bench.ask(key="thread")
    (guild,) = await bench.rows("select id from channel where key = 'guild'")
    now = bench.clock.now()
    await bench.do(lambda tx: intake_settings.switch_channel(tx, guild["id"], enabled=False, now=now))
    await bench.work()
    explained = await bench.explain("thread")
    assert [(scan.status, scan.error_message) for scan in explained.scans] == [("CANCELLED", DISABLED)]
    assert explained.stream.due_at is None


async def test_a_scan_of_a_disabled_channel_is_refused(bench: Bench) -> None:
    await bench.follow()
    await bench.switch(on=False)
    with pytest.raises(UserError, match=DISABLED):
        await bench.ask()


async def test_without_auto_continue_one_batch_is_read_and_no_more(bench: Bench) -> None:
    bench.world.fill("packs", 250, shape="archive")
    await bench.follow()
    await bench.ask(ScanWish(page_limit=30, auto_continue=False))
    await bench.work()
    scan = await newest_scan(bench)
    assert (scan.status, scan.pages, scan.messages, scan.auto_continue) == ("SUCCEEDED", 1, 30, False)
    assert bench.calls("read") == 1
    newest = [message.key for message in bench.world.messages("packs")[-30:]]
    assert [place.split("/")[0] for place in await bench.column("sightings")] == newest
    # The rest is read when a person asks for it.
    await bench.ask()
    await bench.work()
    assert await bench.column("sightings") == bench.places()


async def test_a_direction_reads_one_side_of_what_was_read(bench: Bench) -> None:
    bench.world.fill("packs", 100, shape="archive")
    await bench.follow()
    await bench.ask(ScanWish(page_limit=40, auto_continue=False))
    await bench.work()
    (before,) = (await bench.explain()).coverage
    newer = bench.world.post("packs", files=[file_of("newer.zip", b"x")])
    await bench.pass_time(60)
    await bench.ask(ScanWish("forward"))
    await bench.work()
    (forward,) = (await bench.explain()).coverage
    assert (await newest_scan(bench)).direction == "forward"
    assert forward.forward_message_id == newer.position
    assert forward.backward_message_id == before.backward_message_id
    still_newer = bench.world.post("packs", files=[file_of("still-newer.zip", b"y")])
    await bench.pass_time(60)
    await bench.ask(ScanWish("backward"))
    await bench.work()
    (backward,) = (await bench.explain()).coverage
    assert backward.backward_message_id == 0
    assert backward.forward_message_id == newer.position < still_newer.position


@pytest.mark.parametrize("limit", [100, 101, 5000])
async def test_a_batch_is_never_larger_than_the_platforms_page(bench: Bench, limit: int) -> None:
    bench.world.fill("packs", 250)
    await bench.follow()
    await bench.ask(ScanWish(page_limit=limit, auto_continue=False))
    await bench.work()
    assert (await newest_scan(bench)).messages == 100
    assert len((await bench.explain()).holes) == 1


async def test_a_smaller_limit_reads_smaller_batches_to_the_end(bench: Bench) -> None:
    bench.world.fill("packs", 55)
    await bench.follow()
    await bench.ask(ScanWish(page_limit=20))
    await bench.work()
    scan = await newest_scan(bench)
    assert (scan.status, scan.messages, scan.pages) == ("SUCCEEDED", 55, 4)


async def test_a_scan_that_fails_says_why_and_keeps_what_it_read(bench: Bench) -> None:
    await begin(bench, messages=250, pages=1)
    bench.fail("read.before_effect", SimTimeout("read"))
    for _ in range(5):
        await bench.rest(120)
    failed = await bench.explain()
    assert (failed.scans[-1].status, failed.scans[-1].error_message) == ("FAILED", "no answer to read")
    assert (failed.scans[-1].pages, failed.stream.total_messages_scanned) == (1, 100)
    assert failed.coverage[0].backward_message_id == bench.world.messages("packs")[150].position
    bench.mend()
    for _ in range(4):
        await bench.rest()
    assert await bench.column("sightings") == bench.places()
    assert (await bench.explain()).holes == []


async def test_history_tells_what_a_scan_did_and_cost(bench: Bench) -> None:
    bench.world.fill("packs", 120, shape="archive")
    await bench.follow()
    await bench.ask()
    await bench.pass_time(7)
    await bench.step()
    asked_at = bench.clock.now() - timedelta(seconds=7)
    while bench.calls("read") < 1:
        await bench.step()
    await bench.pass_time(5)
    await bench.work()
    scan = await newest_scan(bench)
    assert (scan.trigger, scan.reason, scan.account) == ("person", "asked", "reader")
    assert (scan.status, scan.error_message) == ("SUCCEEDED", "")
    assert (scan.pages, scan.messages, scan.items) == (3, 120, 120)
    assert (scan.head_calls, scan.read_calls) == (1, 3)
    assert scan.spans == [Span(0, bench.world.messages("packs")[-1].position + 1)]
    assert scan.queued_at == asked_at
    assert scan.started_at == asked_at + timedelta(seconds=7)
    assert scan.duration_s == 5


async def test_every_call_that_reads_a_stream_is_counted_when_it_was_made(bench: Bench) -> None:
    await begin(bench, messages=120, pages=2)
    assert (await bench.explain()).stream.reads == bench.calls("read") == 2
    bench.fail_next("read.before_effect", SimTimeout("read"))
    await bench.catch_up()
    assert (await bench.explain()).stream.reads == bench.calls("read") == 4
    # Nobody listens, so recent messages are read again once a day.
    for _ in range(2):
        await bench.rest(24 * 3600)
    assert (await bench.explain()).stream.reads == bench.calls("read") > 4


async def test_what_failed_is_counted_as_a_call_too(bench: Bench) -> None:
    await begin(bench, messages=20, pages=0)
    bench.fail_next("read.before_effect", SimTimeout("read"))
    await bench.work()
    scan = await newest_scan(bench)
    assert (scan.status, scan.pages, scan.read_calls, scan.error_message) == (
        "RUNNING",
        0,
        1,
        "no answer to read",
    )
    await bench.rest(60)
    scan = await newest_scan(bench)
    assert (scan.status, scan.read_calls, scan.error_message) == ("SUCCEEDED", 1 + scan.pages, "")


async def test_what_came_while_nothing_ran_is_found_after_a_start(bench: Bench) -> None:
    bench.world.fill("packs", 30)
    await bench.follow()
    await bench.catch_up()
    before = (await bench.explain()).coverage[0].forward_message_id
    for number in range(150):
        bench.world.post("packs", files=[file_of(f"{number}.zip", str(number).encode())])
    await bench.pass_time(4 * 3600)
    await bench.restart()
    await bench.work()
    explained = await bench.explain()
    newest = bench.world.messages("packs")[-1].position
    assert (explained.scans[0].reason, explained.scans[0].messages) == ("changed", 150)
    assert explained.coverage[0].forward_message_id == newest
    assert before is not None
    assert explained.scans[0].spans == [Span(before + 1, newest + 1)]
    assert await bench.column("sightings") == bench.places()


async def test_a_crash_between_two_pages_goes_on_with_the_same_scan(bench: Bench) -> None:
    await begin(bench, messages=350, pages=2)
    scan_id = (await newest_scan(bench)).id
    await bench.restart()
    await bench.work()
    assert [(scan.id, scan.status) for scan in (await bench.explain()).scans] == [(scan_id, "SUCCEEDED")]
    assert bench.calls("read") == 5


async def test_a_crash_during_a_look_leaves_the_streams_due(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    bench.fail_next("heads.after_effect", ProcessGone())
    with pytest.raises(ProcessGone):
        await bench.work()
    assert (await bench.explain()).decisions == []
    await bench.restart()
    await bench.work()
    assert await bench.column("sightings") == bench.places()


async def test_a_second_wish_joins_the_scan_that_is_under_way(bench: Bench) -> None:
    await begin(bench, messages=250, pages=1)
    asked = await bench.ask()
    assert not asked.new
    await bench.work()
    assert [scan.status for scan in (await bench.explain()).scans] == ["SUCCEEDED"]


async def test_a_reset_reads_the_platform_again_and_loses_nothing(bench: Bench) -> None:
    bench.world.fill("packs", 120, shape="archive")
    await bench.follow()
    await bench.catch_up()
    items, stream = await bench.column("titles", key="packs"), await bench.stream()
    reads = bench.calls("read")
    await bench.do(
        lambda tx: requests.reset_scan(tx, stream.id, ScanWish(), ids=bench.parts.ids, now=bench.clock.now())
    )
    await bench.work()
    scan = await newest_scan(bench)
    assert (scan.trigger, scan.status, scan.messages, scan.items) == ("reset", "SUCCEEDED", 120, 0)
    assert bench.calls("read") > reads
    assert await bench.column("titles", key="packs") == items
    after = await bench.stream()
    assert (after.total_messages_scanned, after.message_count) == (120, stream.message_count)
