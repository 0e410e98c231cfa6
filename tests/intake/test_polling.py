"""Looking at listings: what an answer changes, what it leaves alone, and what a person decides."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from listing_bench import ListingBench

from headgate.domain.errors import Gone
from headgate.domain.listings.listings import BadEntry, Entry
from headgate.domain.text import stand_in_key
from headgate.intake.listings.accept_entries import accept_news
from headgate.intake.listings.entries import News
from headgate.storage.listings.listings import pin_tier


async def test_a_release_that_got_another_number_moves_and_is_no_news(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    await listed.check(dex)
    await listed.follow(dex.series_id)
    await listed.pass_time(minutes=1)
    listed.publish("dex", "45", key="a")
    await listed.check(dex)
    listed.publish("dex", "45.5", key="a")
    await listed.check(dex)
    assert await listed.numbers(dex.series_id) == ["45.5"]
    assert await listed.texts("news") == ["45.5 a"]


async def test_only_better_data_replaces_a_chapters(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    park = await listed.add("park", series_id=dex.series_id)
    early = listed.bench.clock.now() - timedelta(days=2)
    listed.publish("dex", "45", title="dex, chapter 45: The Flood")
    await listed.check(dex)
    listed.publish("park", "45", title="park 45: Something else", published_at=early)
    await listed.check(park)
    (chapter,) = await listed.chapters(dex.series_id)
    assert (chapter.title, chapter.published_at) == ("The Flood", early)


async def test_a_bad_entry_is_a_miss_alone_until_it_is_understood(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "44", "45")
    listed.publish("dex", "46", key="x" * 1001)
    await listed.check(dex)
    assert await listed.numbers(dex.series_id) == ["44", "45"]
    assert await listed.texts("misses") == [f"{stand_in_key('x' * 1001)}: its key cannot be stored"]
    listed.withdraw("dex", "x" * 1001)
    listed.publish("dex", "46")
    await listed.check(dex)
    assert await listed.numbers(dex.series_id) == ["44", "45", "46"]
    assert await listed.texts("misses") == []


async def test_what_the_database_refuses_is_a_miss_alone(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", *map(str, range(1, 20)))
    await listed.bench.rows("alter table release add constraint odd check (entry_key <> 'dex-7')")
    await listed.check(dex)
    assert len(await listed.numbers(dex.series_id)) == 18
    (miss,) = await listed.texts("misses")
    assert miss.startswith("dex-7: ")


async def test_an_entry_of_no_series_is_a_post_in_the_library(listed: ListingBench) -> None:
    blog = await listed.add("blog", is_series=False)
    listed.publish("blog", "", key="hello", title="Hello, world")
    await listed.check(blog)
    assert await listed.texts("posts") == ["Hello, world"]
    listed.publish("blog", "", key="hello", title="Hello, whole world")
    await listed.check(blog)
    assert await listed.texts("posts") == ["Hello, whole world"]
    mark = await listed.mark()
    await listed.check(blog)
    assert await listed.written_since(mark) == {"listing": 1}


async def test_undated_posts_of_a_first_look_are_old_news(listed: ListingBench) -> None:
    feed = await listed.add("blog", is_series=False)
    await listed.follow(channel_id=feed.channel_id)
    await listed.pass_time(seconds=1)
    listed.publish("blog", "1", title="Long there", published_at=None)
    listed.publish("blog", "2", title="Dated")
    await listed.check(feed)
    assert await listed.texts("news_of_items") == ["Dated"]
    listed.publish("blog", "3", title="Came later", published_at=None)
    await listed.check(feed)
    assert await listed.texts("news_of_items") == ["Came later", "Dated"]
    assert await listed.texts("posts") == ["Came later", "Dated", "Long there"]


async def test_judging_a_feed_waits_for_whoever_takes_its_posts_in(listed: ListingBench) -> None:
    bench, feed = listed.bench, await listed.add("blog", is_series=False)
    listed.publish("blog", "1", title="One")
    await listed.check(feed)
    await bench.set("blog", excluded_authors=["nobody"])
    news = News(posts={feed.channel_id: [Entry("2", "Two", "https://example.org/2", bench.clock.now())]})
    async with bench.database.transaction() as tx:
        rules = await bench.parts.rules.get_many(tx, [feed.channel_id])
        await accept_news(tx, news, rules=rules, ids=bench.parts.ids, now=bench.clock.now())
        judging = asyncio.create_task(bench.work())
        while not judging.done() and await listed.texts("waiting_for_a_lock") == []:
            continue
        assert not judging.done()
    assert await judging
    assert await listed.texts("posts") == ["One", "Two"]


async def test_a_feed_brings_several_series_by_their_patterns_and_posts_besides(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "7")
    feed = await listed.add("feed", series_id=dex.series_id, pattern="Dex {number}*", is_series=False)
    other = await listed.add("feed", title="Park", pattern="Park {number}*")
    for n, title in enumerate(["Dex 7 is out", "Dex 8", "Park 3 [final]", "We are hiring"]):
        listed.publish("feed", "", key=f"e{n}", title=title)
    await listed.check(dex, feed)
    assert feed.channel_id == other.channel_id
    assert await listed.numbers(dex.series_id) == ["7", "8"]
    assert await listed.numbers(other.series_id) == ["3"]
    assert await listed.texts("posts") == ["We are hiring"]


async def test_a_switch_that_is_turned_during_a_look_counts(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45")

    async def turn_off() -> None:
        await listed.bench.switch("dex", on=False)

    listed.bench.at_next("list.after_effect", turn_off)
    await listed.work()
    state = await listed.state(dex)
    assert (state.due_at, state.reason) == (None, "disabled")
    await listed.bench.switch("dex", on=True)
    calls = listed.calls()
    await listed.work()
    assert listed.calls() == calls + 1


async def test_a_pinned_tier_outranks_the_rhythm_until_it_is_let_go(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "1", published_at=listed.bench.clock.now() - timedelta(days=900))
    await listed.check(dex)
    assert (await listed.state(dex)).tier == "COLD"
    now = listed.bench.clock.now()
    await listed.bench.do(lambda tx: pin_tier(tx, dex.channel_id, tier="HOT", now=now))
    await listed.work()
    state = await listed.state(dex)
    assert (state.tier, state.tier_reason) == ("HOT", "pinned")
    assert state.due_at is not None
    assert timedelta(minutes=5) <= state.due_at - now <= timedelta(minutes=6)
    await listed.bench.do(lambda tx: pin_tier(tx, dex.channel_id, tier=None, now=now))
    listed.publish("dex", "2", published_at=now - timedelta(days=899))
    await listed.check(dex)
    assert (await listed.state(dex)).tier == "COLD"


async def test_what_is_gone_for_good_rests_until_a_person_asks(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.bench.fail("list.began", Gone("it is gone (410)"))
    await listed.work()
    state = await listed.state(dex)
    assert (state.due_at, state.reason, state.error_message) == (None, "gone", "it is gone (410)")
    listed.bench.mend()
    listed.publish("dex", "45")
    await listed.pass_time(days=30)
    await listed.work()
    assert await listed.numbers(dex.series_id) == []
    await listed.check(dex)
    assert await listed.numbers(dex.series_id) == ["45"]


async def test_a_source_is_never_asked_sooner_than_it_said(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    with listed.answers(rest_s=7200.0):
        await listed.work()
        state = await listed.state(dex)
        assert state.due_at is not None
        assert state.due_at >= listed.bench.clock.now() + timedelta(hours=2)


async def test_whole_answers_mark_what_was_removed_and_only_once(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "44", "45")
    with listed.answers(complete=True):
        await listed.check(dex)
        listed.withdraw("dex", "dex-44")
        await listed.check(dex)
        assert [r.removed_at is not None for r in await listed.releases(dex.series_id)] == [True, False]
        mark = await listed.mark()
        await listed.check(dex)
        assert await listed.written_since(mark) == {"listing": 1}
        listed.publish("dex", "44")
        await listed.check(dex)
    assert [r.removed_at for r in await listed.releases(dex.series_id)] == [None, None]


async def test_numbers_that_begin_anew_are_told_apart_once_that_is_known(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "1", key="a", volume="1")
    listed.publish("dex", "1", key="b", volume="2")
    await listed.check(dex)
    assert len(await listed.chapters(dex.series_id)) == 1
    with listed.answers(numbers_reset=True):
        await listed.check(dex)
    assert [(c.volume, c.number) for c in await listed.chapters(dex.series_id)] == [("1", "1"), ("2", "1")]


async def test_an_answer_in_parts_is_one_answer(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", *map(str, range(1, 8)))
    with listed.answers(parts=3, complete=True, bad=(BadEntry("odd", "no title"),)):
        await listed.check(dex)
    assert listed.calls() == 3
    assert len(await listed.numbers(dex.series_id)) == 7
    assert await listed.texts("misses") == ["odd: no title"]


async def test_a_listing_that_moved_is_followed_to_its_new_address(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.bench.world.add_listing("dex-2", host="elsewhere.example")
    with listed.answers(moved_to="dex-2", title="Dex, the series"):
        await listed.check(dex)
    state = await listed.state(dex)
    assert (state.key, state.host, state.title) == ("dex-2", "elsewhere.example", "Dex, the series")


async def test_a_listing_that_moved_to_a_secret_address_keeps_it_sealed(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    address = "https://me:geheim@elsewhere.example/feed"
    listed.bench.world.add_listing(address, host="elsewhere.example")
    with listed.answers(moved_to=address):
        await listed.check(dex)
        await listed.check(dex)
    listed.publish(address, "1")
    await listed.check(dex)
    assert await listed.numbers(dex.series_id) == ["1"]
    key = (await listed.state(dex)).key
    assert key.startswith("https://•••@elsewhere.example/feed#")
    with listed.answers(moved_to="dex"):
        await listed.check(dex)
    assert (await listed.state(dex)).key == "dex"
    assert await listed.bench.rows("select owner from secret where owner like 'listing:%'") == []
