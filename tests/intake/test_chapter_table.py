"""The four scenarios of the original: same source, another source, a repeated look, and a half number."""

from __future__ import annotations

from listing_bench import ListingBench


async def test_a_chapter_of_a_source_is_a_new_row(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45")
    await listed.check(dex)
    (release,) = await listed.releases(dex.series_id)
    assert (release.channel_id, release.entry_key) == (dex.channel_id, "dex-45")
    assert await listed.numbers(dex.series_id) == ["45"]


async def test_the_same_chapter_of_another_source_is_another_release_of_it(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    park = await listed.add("park", series_id=dex.series_id)
    listed.publish("dex", "45")
    listed.publish("park", "45.0")
    await listed.check(dex, park)
    assert {release.entry_key for release in await listed.releases(dex.series_id)} == {"dex-45", "park-45.0"}
    assert await listed.numbers(dex.series_id) == ["45"]


async def test_a_repeated_look_writes_only_when_the_listing_was_looked_at(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "44", "45")
    await listed.check(dex)
    before = await listed.releases(dex.series_id)
    mark = await listed.mark()
    await listed.pass_time(hours=5)
    await listed.work()
    assert listed.calls() == 2
    assert await listed.written_since(mark) == {"listing": 1}
    assert await listed.releases(dex.series_id) == before
    state = await listed.state(dex)
    assert state.checked_at == state.succeeded_at == listed.bench.clock.now()


async def test_half_a_chapter_is_one_of_its_own(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45", "46", "45.5")
    await listed.check(dex)
    assert await listed.numbers(dex.series_id) == ["45", "45.5", "46"]


async def test_the_database_orders_chapters_by_the_one_rule(listed: ListingBench) -> None:
    """45.9 comes before 45.10, a zero after the point before both, and extras after all."""
    in_order = [
        "-1.10",
        "-1.9",
        "0",
        "9",
        "10",
        "45",
        "45.05",
        "45.1",
        "45.2",
        "45.9",
        "45.10",
        "45.11",
        "46",
    ]
    dex = await listed.add("dex")
    listed.publish("dex", *reversed(in_order))
    listed.publish("dex", "Extra 10", "Extra 9")
    await listed.check(dex)
    chapters = await listed.chapters(dex.series_id)
    assert [chapter.number or chapter.key for chapter in chapters] == [*in_order, "extra 9", "extra 10"]
    assert [chapter.place for chapter in chapters] == sorted(chapter.place for chapter in chapters)
    assert (await listed.series(dex.series_id)).latest_chapter == "46"
