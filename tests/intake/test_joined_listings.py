"""A feed that moved for good onto one that is followed: the two are one, with everything of both."""

from __future__ import annotations

from uuid import uuid4

from listing_bench import ListingBench

from headgate.storage.listings import joining


async def test_a_feed_that_moves_onto_a_followed_one_is_joined_with_it(listed: ListingBench) -> None:
    old = await listed.add("old", title="Red Moon")
    new = await listed.add("new", is_series=False)
    for place in ("old", "new"):
        for number in ("1", "2"):
            listed.publish(place, number, key=number, url=f"https://example.org/{number}")
    await listed.check(old)
    ada = await listed.follow(old.series_id)
    bob = await listed.follow(channel_id=old.channel_id, name="bob")
    await listed.pass_time(minutes=1)
    for place in ("old", "new"):
        listed.publish(place, "3", key="3", url="https://example.org/3")
    await listed.check(old)
    # It is told by now.
    await listed.bench.rows("delete from news")
    listed.publish("new", "4", key="4")
    with listed.answers(moved_to="new"):
        await listed.check(old)
    assert await listed.numbers(old.series_id) == ["1", "2", "3", "4"]
    assert await listed.texts("news") == ["4 4"]
    assert {release.channel_id for release in await listed.releases(old.series_id)} == {new.channel_id}
    rows = await listed.bench.rows("select id, key from channel")
    assert [row["key"] for row in rows] == ["new"]
    follows = await listed.bench.rows(
        "select user_id, channel_id from follow order by channel_id nulls first"
    )
    assert [(row["user_id"], row["channel_id"]) for row in follows] == [(ada, None), (bob, new.channel_id)]
    state = await listed.state(new)
    assert state.former_keys == ["old"]


async def test_joining_tells_nothing_twice(listed: ListingBench) -> None:
    old = await listed.add("old")
    await listed.add("new", series_id=old.series_id)
    for place in ("old", "new"):
        listed.publish(place, "1", key="1", url="https://example.org/1")
    await listed.work()
    await listed.follow(old.series_id)
    await listed.pass_time(minutes=1)
    for place in ("old", "new"):
        listed.publish(place, "2", key="2", url="https://example.org/2")
    with listed.answers(moved_to="new"):
        await listed.check(old)
    assert await listed.texts("news") == ["2 2"]
    assert len(await listed.releases(old.series_id)) == 2


async def test_posts_of_both_are_kept_once(listed: ListingBench) -> None:
    old = await listed.add("old", is_series=False)
    new = await listed.add("new", is_series=False)
    listed.publish("old", "1", key="1", title="Only in the old one")
    for place in ("old", "new"):
        listed.publish(place, "2", key="2", title="In both")
    await listed.work()
    await listed.follow(channel_id=new.channel_id)
    await listed.pass_time(minutes=1)
    with listed.answers(moved_to="new"):
        await listed.check(old)
    assert await listed.texts("posts") == ["In both", "Only in the old one"]
    assert await listed.texts("news_of_items") == []


async def test_feeds_that_bring_different_series_stay_two_and_say_so(listed: ListingBench) -> None:
    old, new = await listed.add("old"), await listed.add("new", title="Blue Sun")
    listed.publish("old", "1")
    listed.publish("new", "1")
    await listed.work()
    with listed.answers(moved_to="new"):
        await listed.check(old)
    assert (await listed.state(old)).moved_onto == "Blue Sun"
    assert await listed.numbers(old.series_id) == ["1"]
    assert await listed.numbers(new.series_id) == ["1"]


async def test_a_move_to_an_address_that_nobody_follows_keeps_the_old_one_in_mind(
    listed: ListingBench,
) -> None:
    dex = await listed.add("dex")
    with listed.answers(moved_to="dex-2"):
        listed.bench.world.add_listing("dex-2")
        await listed.check(dex)
    state = await listed.state(dex)
    assert (state.key, state.former_keys) == ("dex-2", ["dex"])
    other = await listed.bench.do(
        lambda tx: joining.find_other(tx, uuid4(), platform="simulated", key="dex-2")
    )
    assert other == dex.channel_id
