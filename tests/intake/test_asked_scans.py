"""Scans that people ask for: how they join, what they say about idleness, and what a sample leaves alone."""

from __future__ import annotations

from datetime import timedelta

from bench import Bench

from headgate.intake.channels.requests import set_start
from headgate.storage.channels.requests import ScanWish
from headgate.testing import file_of

SAMPLE = ScanWish(page_limit=20, auto_continue=False)


async def settled(bench: Bench, messages: int = 5) -> None:
    bench.world.fill("packs", messages)
    await bench.follow()
    await bench.catch_up()


async def wait_for_the_tip(bench: Bench) -> None:
    """Begin a scan that waits for a message too young to be proven."""
    bench.world.post("packs", files=[file_of("young.zip", b"x")])
    await bench.pass_time(15)
    await bench.ask()
    await bench.work()
    assert (await bench.explain()).scans[0].status == "RUNNING"


async def test_joining_a_scan_that_waits_fetches_a_fresh_head(bench: Bench) -> None:
    await settled(bench)
    await wait_for_the_tip(bench)
    heads = bench.calls("heads")
    before_the_ask = bench.world.post("packs", files=[file_of("second.zip", b"y")])
    await bench.pass_time(12)
    asked = await bench.ask()
    assert not asked.new
    await bench.work()
    assert bench.calls("heads") == heads + 1
    assert f"{before_the_ask.key}/a0" in await bench.column("sightings")
    await bench.rest(60)
    explained = await bench.explain()
    assert explained.scans[0].status == "SUCCEEDED"
    assert explained.holes == []


async def test_joining_a_scan_in_the_middle_of_a_page_fetches_a_fresh_head(proving: Bench) -> None:
    proving.world.fill("packs", 5)
    await proving.follow()
    posted = ""

    async def post_and_ask() -> None:
        nonlocal posted
        posted = proving.world.post("packs", files=[file_of("meanwhile.zip", b"y")]).key
        proving.clock.advance(31)
        await proving.ask()

    proving.at_next("read.after_effect", post_and_ask)
    await proving.work()
    assert f"{posted}/a0" in await proving.column("sightings")
    (scan,) = (await proving.explain()).scans
    assert (scan.trigger, scan.status) == ("person", "SUCCEEDED")


async def test_a_look_that_ends_before_the_page_does_not_lose_the_fresh_head(proving: Bench) -> None:
    proving.world.fill("packs", 5)
    await proving.follow()
    await proving.step()
    newest = proving.world.post("packs", files=[file_of("meanwhile.zip", b"y")])

    async def ask_and_look() -> None:
        proving.clock.advance(31)
        await proving.ask()
        # The look's job is the only one that is free: the scan's is under way.
        stepper = await proving.stepper()
        job = await stepper.claim()
        assert job is not None
        _, settlement = await stepper.execute(job)
        await stepper.settle(job, settlement)

    proving.at_next("read.after_effect", ask_and_look)
    await proving.work()
    assert f"{newest.key}/a0" in await proving.column("sightings")


async def test_a_persons_empty_scans_never_deepen_the_back_off(bench: Bench) -> None:
    await settled(bench)
    before = (await bench.explain()).stream
    for _ in range(6):
        await bench.pass_time(60)
        await bench.ask()
        await bench.work()
    after = (await bench.explain()).stream
    assert (after.idle_scans, after.idle_at) == (before.idle_scans, before.idle_at)
    assert after.due_at is not None
    assert after.due_at - bench.clock.now() < timedelta(hours=5)


async def test_what_was_posted_before_an_ask_and_visible_only_later_is_found_when_it_is(bench: Bench) -> None:
    await settled(bench)
    before = (await bench.explain()).stream
    unseen = bench.world.post("packs", files=[file_of("unseen.zip", b"x")])
    await bench.ask()
    await bench.work()
    assert f"{unseen.key}/a0" not in await bench.column("sightings")
    assert (await bench.explain()).stream.reason == "settling"
    await bench.rest(31)
    assert f"{unseen.key}/a0" in await bench.column("sightings")
    assert (await bench.explain()).stream.idle_scans <= before.idle_scans


async def test_the_second_look_that_an_ask_brings_about_is_one_head_and_never_counts_as_idle(
    bench: Bench,
) -> None:
    await settled(bench)
    before, heads, reads = (await bench.explain()).stream, bench.calls("heads"), bench.calls("read")
    await bench.ask()
    await bench.work()
    for _ in range(4):
        await bench.rest(31)
    after = (await bench.explain()).stream
    assert (bench.calls("heads"), bench.calls("read")) == (heads + 2, reads)
    assert (after.idle_scans, after.idle_at, after.reason) == (before.idle_scans, before.idle_at, "caught_up")


async def test_a_gap_too_young_to_be_proven_is_read_once_and_again_when_it_is_old_enough(
    proving: Bench,
) -> None:
    await settled(proving)
    async with proving.listening():
        proving.world.post("packs", files=[file_of("heard.zip", b"x")])
    await proving.pass_time(6)
    reads = proving.calls("read")
    await proving.ask()
    for _ in range(4):
        await proving.rest(5)
    assert proving.calls("read") == reads + 1
    await proving.rest(31)
    assert proving.calls("read") == reads + 2
    explained = await proving.explain()
    assert (explained.holes, explained.scans[0].status) == ([], "SUCCEEDED")


async def test_a_stream_that_was_only_sampled_is_not_read_to_its_beginning_by_the_schedule(
    bench: Bench,
) -> None:
    bench.world.fill("packs", 250, shape="archive")
    await bench.follow()
    await bench.ask(SAMPLE)
    await bench.work()
    for _ in range(3):
        await bench.rest()
    assert bench.calls("read") == 1
    explained = await bench.explain()
    assert explained.stream.sampled_from == explained.coverage[0].backward_message_id
    # The rest is shown as what was not read.
    assert len(explained.holes) == 1


async def test_what_is_newer_than_a_sample_is_read_as_ever(bench: Bench) -> None:
    bench.world.fill("packs", 250, shape="archive")
    await bench.follow()
    await bench.ask(SAMPLE)
    await bench.work()
    newer = bench.world.post("packs", files=[file_of("newer.zip", b"x")])
    await bench.rest()
    assert f"{newer.key}/a0" in await bench.column("sightings")
    assert len(await bench.column("sightings")) == SAMPLE.page_limit + 1


async def test_a_second_sample_reads_the_next_older_page(bench: Bench) -> None:
    bench.world.fill("packs", 250, shape="archive")
    await bench.follow()
    for pages in (1, 2):
        await bench.ask(ScanWish("backward", 20, auto_continue=False))
        await bench.work()
        await bench.rest()
        assert len(await bench.column("sightings")) == 20 * pages


async def test_asking_for_all_of_a_sampled_stream_reads_all(bench: Bench) -> None:
    bench.world.fill("packs", 250, shape="archive")
    await bench.follow()
    await bench.ask(SAMPLE)
    await bench.work()
    await bench.ask()
    await bench.work()
    assert await bench.column("sightings") == bench.places()
    assert (await bench.explain()).stream.sampled_from is None


async def test_a_floor_that_a_person_sets_ends_a_sample(bench: Bench) -> None:
    bench.world.fill("packs", 250, shape="archive")
    await bench.follow()
    await bench.ask(SAMPLE)
    await bench.work()
    channel_id = (await bench.stream()).id
    await bench.do(lambda tx: set_start(tx, channel_id, 0, now=bench.clock.now()))
    await bench.rest()
    assert await bench.column("sightings") == bench.places()


async def test_switching_a_sampled_channel_off_and_on_keeps_it_a_sample(bench: Bench) -> None:
    bench.world.fill("packs", 250, shape="archive")
    await bench.follow()
    await bench.ask(SAMPLE)
    await bench.work()
    await bench.ask(ScanWish("backward", 20, auto_continue=False))
    await bench.switch(on=False)
    await bench.switch(on=True)
    await bench.rest()
    assert len(await bench.column("sightings")) == SAMPLE.page_limit
