"""Feeds that change the IDs of their entries: nothing is caught twice, and it is said."""

from __future__ import annotations

from listing_bench import ListingBench

from headgate.intake.listings.sources import SourceAdded
from headgate.storage.listings.listing_overview import list_odd_listings


def publish_anew(listed: ListingBench, listing: str, *numbers: str, salt: str, **fields: object) -> None:
    """Let a listing have these entries and no others, under keys of their own."""
    listed.bench.world.listings[listing].posted.clear()
    for number in numbers:
        listed.publish(listing, number, key=f"{salt}-{number}", **fields)


async def check(listed: ListingBench, added: SourceAdded) -> None:
    with listed.answers(loose_keys=True):
        await listed.check(added)


async def test_chapters_under_new_keys_are_no_new_releases_and_no_news(listed: ListingBench) -> None:
    feed = await listed.add("feed")
    began = listed.bench.clock.now()
    publish_anew(listed, "feed", "1", "2", salt="first", published_at=began)
    await check(listed, feed)
    await listed.follow(feed.series_id)
    for salt in ("second", "third"):
        await listed.pass_time(hours=1)
        publish_anew(listed, "feed", "1", "2", salt=salt, published_at=began)
        await check(listed, feed)
    assert [release.entry_key for release in await listed.releases(feed.series_id)] == ["third-1", "third-2"]
    assert await listed.texts("news") == []
    assert (await listed.state(feed)).changes_keys(now=listed.bench.clock.now())
    now = listed.bench.clock.now()
    odd = await listed.bench.do(lambda tx: list_odd_listings(tx, now=now))
    assert [one.title for one in odd] == ["feed"]


async def test_dates_that_change_with_the_keys_make_nothing_new(listed: ListingBench) -> None:
    feed = await listed.add("feed")
    publish_anew(listed, "feed", "1", "2", salt="first")
    await check(listed, feed)
    await listed.follow(feed.series_id)
    await listed.pass_time(hours=1)
    publish_anew(listed, "feed", "1", "2", "3", salt="second")
    await check(listed, feed)
    assert await listed.numbers(feed.series_id) == ["1", "2", "3"]
    assert await listed.texts("news") == ["3 second-3"]


async def test_posts_under_new_keys_are_no_new_posts(listed: ListingBench) -> None:
    feed = await listed.add("feed", is_series=False)
    began = listed.bench.clock.now()
    publish_anew(listed, "feed", "1", "2", salt="first", published_at=began)
    await check(listed, feed)
    await listed.follow(channel_id=feed.channel_id)
    await listed.pass_time(hours=1)
    publish_anew(listed, "feed", "1", "2", salt="second", published_at=began)
    await check(listed, feed)
    assert len(await listed.texts("posts")) == 2
    assert await listed.texts("news_of_items") == []
    # They are known under their new keys from now on, so that a corrected title is a correction.
    publish_anew(listed, "feed", "1", "2", salt="second", published_at=began, title="The Flood")
    await check(listed, feed)
    assert await listed.texts("posts") == ["The Flood", "The Flood"]


async def test_entries_that_only_look_alike_stay_apart(listed: ListingBench) -> None:
    feed = await listed.add("feed")
    alike = {"title": "Chapter 7", "url": "https://example.org/feed/7"}
    listed.publish("feed", "7", key="one", group="Tidewater", **alike)
    await check(listed, feed)
    listed.publish("feed", "7", key="two", group="Late Ferry", **alike)
    await check(listed, feed)
    assert {release.entry_key for release in await listed.releases(feed.series_id)} == {"one", "two"}
    assert not (await listed.state(feed)).changes_keys(now=listed.bench.clock.now())


async def test_one_change_of_all_keys_is_not_called_a_habit(listed: ListingBench) -> None:
    feed = await listed.add("feed")
    began = listed.bench.clock.now()
    publish_anew(listed, "feed", "1", "2", salt="first", published_at=began)
    await check(listed, feed)
    publish_anew(listed, "feed", "1", "2", salt="second", published_at=began)
    await check(listed, feed)
    state = await listed.state(feed)
    assert (state.key_changes, state.changes_keys(now=listed.bench.clock.now())) == (1, False)
