"""Several accounts on one channel, and channels that move, convert or vanish."""

from __future__ import annotations

from datetime import timedelta

import pytest
from bench import Bench

from headgate.testing import file_of
from headgate.testing.platform.errors import SimTimeout


async def with_stand_by(bench: Bench, *, messages: int = 30) -> None:
    bench.world.fill("packs", messages, shape="archive")
    await bench.follow()
    await bench.follow("second")


async def reader(bench: Bench) -> str:
    return next(watch.name for watch in (await bench.explain()).watches if watch.reads)


@pytest.mark.parametrize("loss", ["ban", "logout"])
async def test_a_stand_by_takes_over_when_the_reader_is_lost(bench: Bench, loss: str) -> None:
    await with_stand_by(bench)
    await bench.catch_up()
    before = await bench.explain()
    getattr(bench.world, loss)("reader")
    bench.world.post("packs", files=[file_of("new.zip", b"x")])
    await bench.rest()
    await bench.rest(60)
    after = await bench.explain()
    assert await reader(bench) == "second"
    assert await bench.column("sightings") == bench.places()
    # Coverage and items are the channel's: only what is new was read.
    assert after.stream.total_messages_scanned == before.stream.total_messages_scanned + 1
    assert after.stream.items == before.stream.items + 1
    lost = next(watch for watch in after.watches if watch.name == "reader")
    assert lost.state != "active"
    assert lost.state_reason


async def test_a_stand_by_goes_on_with_the_scan_of_a_reader_that_is_lost(bench: Bench) -> None:
    await with_stand_by(bench, messages=250)
    while bench.calls("read") < 1:
        await bench.step()
    bench.world.ban("reader")
    await bench.work()
    explained = await bench.explain()
    assert [(scan.status, scan.account, scan.messages) for scan in explained.scans] == [
        ("SUCCEEDED", "second", 250)
    ]
    assert await bench.column("sightings") == bench.places()


async def test_a_reader_that_was_kicked_is_followed_by_the_stand_by_at_once(bench: Bench) -> None:
    await with_stand_by(bench)
    await bench.catch_up()
    bench.world.kick("reader", "packs")
    bench.world.post("packs", files=[file_of("new.zip", b"x")])
    await bench.rest()
    assert await reader(bench) == "second"
    assert await bench.column("sightings") == bench.places()
    kicked = next(watch for watch in (await bench.explain()).watches if watch.name == "reader")
    assert (kicked.state, kicked.error_class) == ("active", "Gone")
    assert kicked.open_until is not None


async def test_without_a_stand_by_the_channel_waits_for_its_account(bench: Bench) -> None:
    bench.world.fill("packs", 250)
    await bench.follow()
    while bench.calls("read") < 1:
        await bench.step()
    bench.world.logout("reader")
    await bench.work()
    scan = (await bench.explain()).scans[0]
    assert (scan.status, scan.error_message) == ("FAILED", "reader: reader is signed out")
    calls = bench.world.log.counts.total()
    await bench.rest()
    assert bench.world.log.counts.total() == calls


async def test_if_nobody_can_read_a_channel_it_says_so_and_is_probed_later(bench: Bench) -> None:
    await with_stand_by(bench)
    await bench.catch_up()
    for name in ("reader", "second"):
        bench.world.kick(name, "packs")
    await bench.rest()
    explained = await bench.explain()
    assert explained.scans[0].status == "FAILED"
    assert all(watch.open_until is not None for watch in explained.watches)
    calls = bench.world.log.counts.total()
    await bench.rest(60)
    assert bench.world.log.counts.total() == calls
    bench.world.admit("second", "packs")
    bench.world.post("packs", files=[file_of("new.zip", b"x")])
    await bench.rest(300)
    assert (await bench.explain()).scans[0].status == "SUCCEEDED"
    assert await bench.column("sightings") == bench.places()


async def test_topics_come_and_go_within_one_stream(bench: Bench) -> None:
    world = bench.world
    world.convert_to_forum("packs", ["tools"])
    world.post("packs", files=[file_of("a.zip", b"a")], topic="tools")
    await bench.follow()
    await bench.catch_up()
    world.create_topic("packs", "maps")
    world.post("packs", files=[file_of("b.zip", b"b")], topic="maps")
    await bench.rest()
    await bench.rest(60)
    rows = await bench.rows("select topic, file_name from sighting order by 2")
    assert [(row["topic"], row["file_name"]) for row in rows] == [("tools", "a.zip"), ("maps", "b.zip")]
    world.remove_topic("packs", "tools")
    await bench.follow()
    await bench.rest()
    explained = await bench.explain()
    assert {topic.key: topic.gone_at is None for topic in explained.topics} == {"maps": True, "tools": False}
    # What was caught from it stays.
    assert explained.stream.items == 2
    assert explained.holes == []


async def test_a_group_that_moved_is_read_on_in_its_new_place_and_keeps_what_was_caught(bench: Bench) -> None:
    bench.world.fill("packs", 20, shape="archive")
    await bench.follow()
    await bench.catch_up()
    items = await bench.column("titles", key="packs")
    moved = bench.world.migrate_group("packs")
    bench.world.post(moved, files=[file_of("after.zip", b"x")])
    await bench.follow()
    await bench.catch_up()
    assert await bench.column("titles", key="packs") == items
    assert await bench.column("titles", key=moved) == ["after"]
    assert (await bench.explain(moved)).stream.continues_id == (await bench.stream()).id


async def test_a_channel_that_was_removed_opens_its_breaker_and_says_so(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.catch_up()
    bench.world.remove_stream("packs")
    await bench.rest()
    (watch,) = (await bench.explain()).watches
    assert (watch.error_class, watch.error_message) == ("Gone", "there is no stream packs")
    assert watch.open_until == bench.clock.now() + timedelta(seconds=300)
    assert (await bench.explain()).stream.items > 0


async def test_one_channel_that_is_gone_does_not_stop_the_others(bench: Bench) -> None:
    bench.world.add_stream("other")
    await bench.follow()
    await bench.catch_up()
    bench.world.remove_stream("packs")
    bench.world.post("other", files=[file_of("new.zip", b"x")])
    await bench.rest()
    await bench.rest(60)
    assert await bench.column("titles", key="other") == ["new"]


async def test_a_failure_counts_for_the_account_that_was_asked_and_not_for_the_new_reader(
    bench: Bench,
) -> None:
    await with_stand_by(bench, messages=5)
    while bench.calls("heads") < 1:
        await bench.step()

    async def hand_over_and_fail() -> None:
        await bench.rows(
            "update watch set failures = 4 where account_id = $1", (await bench.account("second")).id
        )
        await bench.rows("update stream set reader_id = $1", (await bench.account("second")).id)
        raise SimTimeout("read")

    bench.at_next("read.before_effect", hand_over_and_fail)
    await bench.step()
    explained = await bench.explain()
    assert {watch.name: (watch.failures, watch.open_until) for watch in explained.watches} == {
        "reader": (1, None),
        "second": (4, None),
    }
    # The failure was the other account's: the new reader goes on at once, and closes its own breaker.
    assert [hole.attempts for hole in explained.holes] == [0]
    await bench.catch_up()
    assert {watch.name: watch.failures for watch in (await bench.explain()).watches} == {
        "reader": 1,
        "second": 0,
    }
    assert await bench.column("sightings") == bench.places()
