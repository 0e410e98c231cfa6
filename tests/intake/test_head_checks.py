"""Looking: every decision is stored with its reason, and heads cost as few calls as can be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from bench import START, Bench, build_bench

from headgate.storage.database import Database
from headgate.testing import PRESETS, file_of
from headgate.testing.platform.errors import SimBadRequest, SimFlood, SimTimeout


async def make_due(bench: Bench) -> None:
    """Make everything due now, as nothing in the product does without a reason."""
    await bench.rows("update stream set due_at = $1, woken = false", bench.clock.now())


async def follow_and_rest(bench: Bench, *, looks: int = 1) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.catch_up()
    for _ in range(looks):
        await bench.rest()


async def test_a_new_stream_is_read_because_it_was_never_scanned(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    (decision,) = (await bench.explain()).decisions
    assert (decision.reason, decision.times, decision.first_at) == ("never_scanned", 1, START)
    assert (await bench.explain()).scans[0].reason == "never_scanned"


async def test_a_stream_at_its_head_is_caught_up_and_decisions_that_repeat_are_one_row(bench: Bench) -> None:
    await follow_and_rest(bench, looks=3)
    never, caught_up = sorted((await bench.explain()).decisions, key=lambda one: one.number)
    assert never.reason == "never_scanned"
    assert (caught_up.reason, caught_up.times) == ("caught_up", 3)
    assert caught_up.last_at == bench.clock.now()
    assert caught_up.last_at - caught_up.first_at == timedelta(hours=10)
    explained = await bench.explain()
    assert (explained.stream.reason, explained.stream.reads_saved) == ("caught_up", 3)


async def test_minutes_after_an_idle_look_nothing_is_called(bench: Bench) -> None:
    await follow_and_rest(bench)
    await bench.pass_time(60)
    await make_due(bench)
    calls = bench.world.log.counts.total()
    await bench.work()
    assert bench.world.log.counts.total() == calls
    assert (await bench.reasons())[-1] == "recent_idle"
    stream = await bench.stream()
    assert stream.due_at == bench.clock.now() + timedelta(seconds=240)


async def test_a_cold_stream_is_looked_at_only_every_nth_time(bench: Bench) -> None:
    await bench.follow()
    await bench.set(idle_threshold=2, every_nth=3, normal_s=600, rarely_s=600, often_s=600)
    await bench.catch_up()
    while (await bench.explain()).stream.idle_scans < 2:
        await bench.rest(700)
    heads = bench.calls("heads")
    for _ in range(12):
        await bench.rest(600)
    # Two hours at one look in three intervals of ten minutes, but for the jitter.
    assert 3 <= bench.calls("heads") - heads <= 4


async def test_a_cold_stream_that_was_made_due_too_early_says_so(bench: Bench) -> None:
    await follow_and_rest(bench, looks=1)
    while (await bench.explain()).stream.idle_scans < 5:
        await bench.rest()
    await bench.pass_time(3600)
    await make_due(bench)
    heads = bench.calls("heads")
    await bench.work()
    assert bench.calls("heads") == heads
    assert (await bench.reasons())[-1] == "cold"


async def test_something_new_is_read_because_it_changed_and_ends_the_back_off(bench: Bench) -> None:
    await follow_and_rest(bench, looks=3)
    assert (await bench.explain()).stream.idle_scans >= 3
    bench.world.post("packs", files=[file_of("new.zip", b"x")])
    await bench.rest()
    explained = await bench.explain()
    assert explained.scans[0].reason == "changed"
    assert explained.stream.idle_scans == 0


async def test_a_live_message_wakes_a_cold_stream(bench: Bench) -> None:
    await follow_and_rest(bench, looks=1)
    while (await bench.explain()).stream.idle_scans < 5:
        await bench.rest()
    await bench.hear(bench.world.post("packs", files=[file_of("new.zip", b"x")]))
    heads = bench.calls("heads")
    await bench.rest(40)
    explained = await bench.explain()
    assert (explained.scans[0].reason, explained.scans[0].status) == ("woken", "SUCCEEDED")
    assert explained.holes == []
    # What is known to be behind is read without asking for its head.
    assert bench.calls("heads") == heads


async def test_an_asked_scan_is_a_decision_with_its_reason(bench: Bench) -> None:
    await follow_and_rest(bench)
    await bench.ask()
    await bench.work()
    assert (await bench.reasons())[-1] == "asked"


async def test_an_open_breaker_is_a_decision_with_its_reason(bench: Bench) -> None:
    await follow_and_rest(bench)
    bench.world.kick("reader", "packs")
    await bench.rest()
    await bench.pass_time(60)
    await make_due(bench)
    calls = bench.world.log.counts.total()
    await bench.work()
    assert (await bench.reasons())[-1] == "breaker_open"
    assert bench.world.log.counts.total() == calls
    (watch,) = (await bench.explain()).watches
    assert (await bench.stream()).due_at == watch.open_until


async def test_a_person_who_asks_is_let_through_an_open_breaker(bench: Bench) -> None:
    await follow_and_rest(bench)
    bench.world.kick("reader", "packs")
    await bench.rest()
    bench.world.admit("reader", "packs")
    bench.world.post("packs", files=[file_of("new.zip", b"x")])
    await bench.pass_time(60)
    await bench.ask()
    await bench.work()
    explained = await bench.explain()
    assert (explained.scans[0].reason, explained.scans[0].status) == ("asked", "SUCCEEDED")
    assert explained.watches[0].open_until is None
    assert await bench.column("sightings") == bench.places()


async def test_a_disabled_channel_says_so_and_is_left_alone(bench: Bench) -> None:
    await follow_and_rest(bench)
    await bench.switch(on=False)
    calls = bench.calls("heads"), bench.calls("read")
    await bench.rest(24 * 3600)
    assert ((await bench.stream()).reason, (await bench.stream()).due_at) == ("disabled", None)
    assert (bench.calls("heads"), bench.calls("read")) == calls


async def test_a_channel_whose_switch_turned_meanwhile_is_decided_as_disabled(bench: Bench) -> None:
    await follow_and_rest(bench)

    await bench.rows("update channel set message_scan_enabled = false")
    await bench.rows("update intake_settings set version = version + 1")
    await bench.rest()
    assert (await bench.reasons())[-1] == "disabled"
    assert (await bench.stream()).due_at is None


async def test_a_head_that_cannot_be_had_falls_back_to_reading(bench: Bench) -> None:
    await follow_and_rest(bench)
    bench.world.post("packs", files=[file_of("new.zip", b"x")])
    bench.fail("heads.before_effect", SimTimeout("heads"))
    await bench.rest()
    # Once it is tried again, because it may have been the network.
    assert await bench.column("sightings") != bench.places()
    await bench.rest(60)
    await bench.rest(60)
    assert await bench.column("sightings") == bench.places()
    assert (await bench.reasons())[-1] == "head_unknown"
    explained = await bench.explain()
    assert (explained.scans[0].reason, explained.scans[0].status) == ("head_unknown", "SUCCEEDED")
    assert explained.holes == []


async def test_a_rate_limit_on_heads_waits_and_reads_nothing(bench: Bench) -> None:
    await follow_and_rest(bench)
    before, reads, heads = await bench.explain(), bench.calls("read"), bench.calls("heads")
    bench.fail("heads.before_effect", SimFlood(900))
    await bench.rest()
    for _ in range(5):
        await bench.rest(60)
    assert (bench.calls("read"), bench.calls("heads")) == (reads, heads + 1)
    assert (await bench.explain()).decisions == before.decisions
    bench.mend()
    await bench.rest(1800)
    assert bench.calls("heads") == heads + 2
    assert (await bench.explain()).stream.head_checks == before.stream.head_checks + 1


async def test_a_platform_that_knows_no_heads_is_read(bench: Bench) -> None:
    bench.world.fill("packs", 120)
    await bench.follow()
    bench.fail("heads.before_effect", SimBadRequest("no such call"))
    for _ in range(4):
        await bench.rest(60)
    assert await bench.column("sightings") == bench.places()
    assert (await bench.explain()).holes == []


async def test_each_call_for_heads_is_filled_up_to_the_maximum(database: Database, database_url: str) -> None:
    bench = build_bench(database, database_url, PRESETS["telegram_like"].but(heads_per_call=10))
    for number in range(24):
        bench.world.add_stream(f"more-{number}")
    await bench.follow()
    await bench.work()
    sizes = [len(call.place.split(",")) for call in bench.world.log.calls("heads")]
    # 25 streams; whom the last call has room for besides would be the next.
    assert sizes == [10, 10, 10]
    await bench.pass_time(600)
    await bench.rows(
        "update stream set due_at = $1 where channel_id = $2", bench.clock.now(), (await bench.stream()).id
    )
    await bench.work()
    last = list(bench.world.log.calls("heads"))[-1].place.split(",")
    assert len(last) == 10
    assert "packs" in last
    await bench.close()


@pytest.mark.long
async def test_looks_come_together_instead_of_one_call_a_stream(bench: Bench) -> None:
    for number in range(40):
        bench.world.add_stream(f"more-{number}")
    await bench.follow()
    await bench.work()
    heads = bench.calls("heads")
    # Due times are spread by the jitter; whoever is due first takes the others along.
    for _ in range(10 * 12):
        await bench.rest(300)
    cycles = 10 * 3600 / (4 * 3600)
    assert bench.calls("heads") - heads <= 2 * cycles


@pytest.mark.long
async def test_only_so_many_decisions_are_kept(bench: Bench) -> None:
    await follow_and_rest(bench)
    for number in range(60):
        bench.world.post("packs", text=f"chat {number}")
        await bench.rest()
        await bench.rest()
    rows = await bench.rows("select count(*) as kept, max(number) as newest from decision")
    assert rows[0]["newest"] > 100
    assert rows[0]["kept"] <= 51


async def test_a_busy_stream_is_looked_at_more_often_than_a_quiet_one(bench: Bench) -> None:
    bench.world.add_stream("quiet")
    bench.world.fill("packs", 100, hours=20)
    await bench.follow()
    await bench.catch_up()
    assert ((await bench.explain()).stream.tier, (await bench.explain("quiet")).stream.tier) == (
        "HOT",
        "COLD",
    )
    busy, quiet = (await bench.stream()).due_at, (await bench.stream("quiet")).due_at
    assert busy is not None
    assert quiet is not None
    assert busy - bench.clock.now() <= timedelta(seconds=330)
    assert quiet - bench.clock.now() > timedelta(hours=3)


async def test_a_skip_without_a_fetched_head_deepens_no_back_off(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.catch_up()
    await bench.rest()
    before, heads = (await bench.explain()).stream, bench.calls("heads")
    # Due again within the window in which an idle stream is left alone.
    await bench.rows("update stream set due_at = $1", bench.clock.now())
    await bench.rest(60)
    after = (await bench.explain()).stream
    assert ((await bench.reasons())[-1], bench.calls("heads")) == ("recent_idle", heads)
    assert (after.idle_scans, after.idle_at) == (before.idle_scans, before.idle_at)
