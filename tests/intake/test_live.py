"""Live events: taken in by the batch, proof or hint, in any order and number."""

from __future__ import annotations

from bench import Bench

from headgate.domain.streams.messages import LiveEvent, Span
from headgate.testing import file_of


async def test_a_hint_is_stored_raises_the_head_and_wakes_the_stream(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    covered = (await bench.stream()).ranges
    message = bench.world.post("packs", files=[file_of("live.zip", b"x")])
    live = await bench.live()
    live.take(LiveEvent("message", "packs", message))
    assert await live.flush() == 1
    stream = await bench.stream()
    assert stream.head == message.position
    assert stream.ranges == covered
    assert stream.due_at is not None
    # One reading closes the rest, as soon as it can prove something.
    assert (stream.due_at - bench.clock.now()).total_seconds() <= 32
    await bench.work()
    assert "live" in await bench.column("titles", key="packs")


async def test_a_live_message_never_hides_an_older_gap(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    missed = bench.world.post("packs", files=[file_of("missed.zip", b"x")])
    seen = bench.world.post("packs", files=[file_of("seen.zip", b"y")])
    live = await bench.live()
    live.take(LiveEvent("message", "packs", seen))
    await live.flush()
    bench.clock.advance(120)
    await bench.work()
    assert f"{missed.key}/" in "".join(await bench.column("sightings"))
    assert await bench.column("sightings") == bench.places()


async def test_a_proof_covers_what_it_proves_and_counts_once(bench: Bench) -> None:
    await bench.follow()
    first = bench.world.post("packs", files=[file_of("a.zip", b"x")])
    second = bench.world.post("packs", text="only words")
    proven = Span(first.position, second.position + 1)
    live = await bench.live()
    for _ in range(2):
        live.take(LiveEvent("message", "packs", first, proven=Span(first.position, first.position + 1)))
        live.take(LiveEvent("message", "packs", second, proven=proven))
        await live.flush()
    stream = await bench.stream()
    assert stream.ranges == f"{{[{first.position},{second.position + 1})}}"
    assert (stream.total_messages_scanned, stream.message_count) == (2, 1)


async def test_a_deletion_marks_the_sighting_and_the_item_stays(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("gone.zip", b"x")])
    bench.clock.advance(60)
    await bench.follow()
    await bench.work()
    live = await bench.live()
    live.take(LiveEvent("delete", "packs", key=message.key))
    await live.flush()
    assert await bench.column("deleted") == [message.key]
    assert await bench.column("titles", key="packs") == ["gone"]


async def test_events_of_a_disabled_channel_add_nothing(bench: Bench) -> None:
    await bench.follow()
    await bench.change("disable", key="packs")
    message = bench.world.post("packs", files=[file_of("a.zip", b"x")])
    live = await bench.live()
    live.take(LiveEvent("message", "packs", message))
    await live.flush()
    assert await bench.column("sightings") == []


async def test_when_nothing_can_be_written_the_events_wait(bench: Bench) -> None:
    await bench.follow()
    message = bench.world.post("packs", files=[file_of("a.zip", b"x")])
    live = await bench.live()
    live.take(LiveEvent("message", "packs", message))
    async with bench.database.transaction() as tx:
        await tx.raw("alter table sighting rename to sighting_away")
    assert await live.flush() == 0
    assert await bench.column("titles", key="packs") == []
    async with bench.database.transaction() as tx:
        await tx.raw("alter table sighting_away rename to sighting")
    assert await live.flush() == 1
    assert len(await bench.column("sightings")) == 1
