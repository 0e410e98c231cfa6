"""What cannot be read is tried alone and ever more seldom, and keeps nothing else from being read."""

from __future__ import annotations

import pytest
from bench import Bench

from headgate.testing import file_of


async def test_a_failing_message_is_tried_alone_and_nothing_is_listed_again(bench: Bench) -> None:
    bench.world.fill("packs", 150, shape="archive")
    broken = bench.world.messages("packs")[40]
    bench.world.garble("packs", broken.key)
    await bench.follow()
    await bench.catch_up()
    reads, alone = bench.calls("read"), bench.calls("message")
    for _ in range(3):
        await bench.rest()
    explained = await bench.explain()
    assert bench.calls("read") == reads
    assert bench.calls("message") > alone
    assert [(miss.message_key, miss.stage) for miss in explained.misses] == [(broken.key, "read")]
    assert explained.holes == []
    # Something is left to retry: the stream is not idle, but nothing is read for it.
    assert explained.stream.idle_scans == 0


async def test_a_miss_that_was_given_up_lets_the_stream_be_idle(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("broken.zip", b"x")])
    bench.world.garble("packs", message.key)
    await bench.follow()
    await bench.catch_up()
    for _ in range(12):
        await bench.rest(24 * 3600)
    explained = await bench.explain()
    assert [miss.state for miss in explained.misses] == ["abandoned"]
    assert explained.stream.idle_scans > 0


async def test_a_channel_that_cannot_be_read_is_left_alone_for_growing_times(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    bench.world.kick("reader", "packs")
    await bench.rest()
    opened_s: list[float] = []
    for _ in range(4):
        (watch,) = (await bench.explain()).watches
        assert watch.open_until is not None
        assert (watch.error_class, watch.error_message) == ("Gone", "reader cannot see packs")
        left_s = (watch.open_until - bench.clock.now()).total_seconds()
        opened_s.append(left_s)
        calls = bench.calls("heads") + bench.calls("read")
        await bench.rest(left_s - 1)
        assert bench.calls("heads") + bench.calls("read") == calls
        await bench.rest(2)
    assert opened_s == pytest.approx([300, 600, 1200, 2400], abs=3)
    explained = await bench.explain()
    assert explained.scans[0].status == "FAILED"
    assert explained.scans[0].error_message == "reader cannot see packs"


async def test_a_channel_that_is_back_is_read_and_its_breaker_closed(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    bench.world.kick("reader", "packs")
    await bench.rest()
    bench.world.admit("reader", "packs")
    bench.world.post("packs", files=[file_of("new.zip", b"x")])
    await bench.rest(400)
    (watch,) = (await bench.explain()).watches
    assert (watch.failures, watch.opened, watch.open_until, watch.error_message) == (0, 0, None, "")
    assert await bench.column("sightings") == bench.places()
