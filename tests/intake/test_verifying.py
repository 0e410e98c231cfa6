"""Hints are stored at once and verified in batches; after a gap heads show what was not heard."""

from __future__ import annotations

from datetime import timedelta

from bench import Bench

from headgate.domain.streams.messages import Message
from headgate.storage.streams.listeners import note_listening
from headgate.testing import file_of

MINUTES = 90


async def sign(bench: Bench) -> None:
    account = await bench.account()
    await bench.do(lambda tx: note_listening(tx, account.id, listening=True, now=bench.clock.now()))


def post(bench: Bench, name: str) -> Message:
    return bench.world.post("packs", files=[file_of(f"{name}.zip", name.encode())])


async def listened(bench: Bench) -> None:
    bench.world.fill("packs", 100, hours=20)
    await bench.follow()
    await bench.catch_up()
    await sign(bench)


async def test_a_message_a_minute_is_verified_by_few_readings(bench: Bench) -> None:
    await listened(bench)
    reads, heads = bench.calls("read"), bench.calls("heads")
    for number in range(MINUTES):
        message = post(bench, f"live-{number}")
        await bench.hear(message)
        # It is stored at once, whenever it is verified.
        assert f"{message.key}/a0" in await bench.column("sightings")
        await bench.rest(60)
        await sign(bench)
    # Polling would have looked 18 times, with a head and a reading each.
    assert bench.calls("read") - reads + bench.calls("heads") - heads <= MINUTES / 5


async def test_an_update_that_was_dropped_brings_verification_back_to_the_pace_of_polling(
    bench: Bench,
) -> None:
    await listened(bench)
    for number in range(40):
        await bench.hear(post(bench, f"heard-{number}"))
        await bench.rest(60)
        await sign(bench)
    assert await spacing_s(bench) >= 600
    dropped = post(bench, "dropped")
    await bench.hear(post(bench, "after"))
    for _ in range(40):
        await bench.rest(60)
        await sign(bench)
    assert f"{dropped.key}/a0" in await bench.column("sightings")
    assert await spacing_s(bench) == 300


async def spacing_s(bench: Bench) -> float:
    (row,) = await bench.rows("select verify_s from stream")
    return row["verify_s"]


async def test_after_downtime_one_call_asks_for_the_heads_of_all_quiet_streams(bench: Bench) -> None:
    for number in range(20):
        bench.world.add_stream(f"quiet-{number}")
    await bench.follow()
    await bench.catch_up()
    await sign(bench)
    while (await bench.explain()).stream.idle_scans < 5:
        await bench.rest()
        await sign(bench)
    missed = post(bench, "while-nobody-listened")
    await bench.pass_time(1200)
    heads = bench.calls("heads")
    async with bench.listening():
        await bench.work()
    await bench.rest(60)
    assert bench.calls("heads") == heads + 1
    assert f"{missed.key}/a0" in await bench.column("sightings")


async def test_a_listener_that_was_away_for_a_moment_asks_for_nothing(bench: Bench) -> None:
    await bench.follow()
    await bench.catch_up()
    await sign(bench)
    await bench.pass_time(60)
    heads = bench.calls("heads")
    async with bench.listening():
        await bench.work()
    assert bench.calls("heads") == heads
    due_at = (await bench.stream()).due_at
    assert due_at is not None
    assert due_at > bench.clock.now() + timedelta(minutes=5)
