"""Reading streams: everything once, whatever is repeated, interrupted or late."""

from __future__ import annotations

from bench import Bench

from headgate.testing import file_of


async def test_a_stream_is_read_whole_page_by_page(bench: Bench) -> None:
    bench.world.fill("packs", 350)
    await bench.follow()
    await bench.work()
    assert await bench.column("sightings") == bench.places()
    # Three full pages, a short one, and one that proves that there is nothing older.
    assert bench.world.log.counts["read"] == 5
    stream = await bench.stream()
    assert stream.total_messages_scanned == 350
    messages = bench.world.messages("packs")
    assert stream.message_count == sum(bool(message.attachments) for message in messages)
    assert stream.head == messages[-1].position


async def test_reading_again_changes_nothing(bench: Bench) -> None:
    bench.world.fill("packs", 120)
    await bench.follow()
    await bench.work()
    before, items = await bench.stream(), await bench.column("titles", key="packs")
    await bench.change("reset")
    bench.clock.advance(3600)
    await bench.work()
    assert await bench.column("titles", key="packs") == items
    assert await bench.column("sightings") == bench.places()
    assert (await bench.stream()).head == before.head


async def test_an_idle_stream_costs_one_head_and_no_reading(bench: Bench) -> None:
    bench.world.fill("packs", 20)
    await bench.follow()
    await bench.work()
    bench.clock.advance(400)
    reads = bench.world.log.counts["read"]
    await bench.work()
    assert bench.world.log.counts["read"] == reads


async def test_what_came_meanwhile_is_caught_up(bench: Bench) -> None:
    bench.world.fill("packs", 20)
    await bench.follow()
    await bench.work()
    for number in range(5):
        bench.world.post("packs", files=[file_of(f"late-{number}.zip", b"x")])
    bench.clock.advance(400)
    await bench.work()
    assert await bench.column("sightings") == bench.places()


async def test_young_messages_are_stored_but_not_yet_proven(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    await bench.work()
    bench.clock.advance(400)
    message = bench.world.post("packs", files=[file_of("young.zip", b"x")])
    bench.clock.advance(10)
    await bench.work()
    ranges = (await bench.stream()).ranges
    assert not ranges.endswith(f"{message.position + 1})}}")
    assert (await bench.stream()).due_at is not None
    bench.clock.advance(60)
    await bench.work()
    assert (await bench.stream()).ranges.endswith(f"{message.position + 1})}}")


async def test_a_page_of_an_older_epoch_covers_nothing(bench: Bench) -> None:
    from headgate.domain.messages import Span
    from headgate.storage import streams
    from headgate.storage.streams import Uncovered

    await bench.follow()
    channel_id = (await bench.stream()).id
    await bench.change("reset")
    async with bench.database.transaction() as tx:
        grown = await streams.cover(
            tx, channel_id, lens="everything", epoch=1, spans=[Span(0, 100)], counted=Uncovered(5, 5)
        )
    assert not grown
    stream = await bench.stream()
    assert (stream.ranges, stream.total_messages_scanned) == ("{}", 0)


async def test_a_disabled_channel_is_not_read(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    await bench.change("disable", key="packs")
    await bench.work()
    assert bench.world.log.counts["read"] == 0
    assert await bench.column("sightings") == []


async def test_reposts_are_one_item_with_many_sightings(bench: Bench) -> None:
    first = bench.world.post("packs", files=[file_of("pack.zip", b"the same bytes")])
    bench.world.repost("packs", first.key)
    bench.clock.advance(120)
    await bench.follow()
    await bench.work()
    assert len(await bench.column("sightings")) == 2
    assert await bench.column("titles", key="packs") == ["pack"]


async def test_an_account_that_was_banned_says_so_and_its_streams_wait(bench: Bench) -> None:
    from headgate.storage.channels import list_accounts
    from headgate.storage.dead_letters import list_dead_letters

    bench.world.fill("packs", 10)
    await bench.follow()
    bench.world.ban("reader")
    await bench.work()
    async with bench.database.transaction() as tx:
        (account,) = await list_accounts(tx)
        (letter,) = await list_dead_letters(tx)
    assert account.state == "restricted"
    assert account.state_reason
    assert letter.kind == "scan"
    assert (await bench.stream()).due_at is None
