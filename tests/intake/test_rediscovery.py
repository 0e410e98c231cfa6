"""Channels are listed again: what is new, renamed or gone is noticed, and people's choices stand."""

from __future__ import annotations

from bench import NO_DOWNLOADS, Bench

from headgate.app.parts import build_parts
from headgate.domain.streams.messages import LiveEvent
from headgate.intake.channels.discovery import choose, discover, follow, home_of, note_listed
from headgate.intake.channels.requests import remove_channel
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import load_settings
from headgate.storage.channels.discovery import ask_discovery
from headgate.storage.database import Tx
from headgate.testing import file_of
from headgate.testing.platform.errors import SimTimeout

DAY_S = 26_000.0
"""Longer than the time between two listings."""


async def keys(bench: Bench) -> list[str]:
    rows = await bench.rows("select key from channel where kind = 'stream' order by key")
    return [row["key"] for row in rows]


async def follow_guild(bench: Bench) -> None:
    bench.world.add_stream("general", parent="guild")
    await bench.follow()
    await bench.work()


async def test_a_new_channel_of_a_followed_parent_is_followed_and_read(bench: Bench) -> None:
    await follow_guild(bench)
    bench.world.add_stream("news", parent="guild")
    bench.world.post("news", files=[file_of("new.zip", b"x")])
    bench.world.add_stream("elsewhere")
    await bench.rest(DAY_S)
    await bench.rest(60)
    assert await keys(bench) == ["general", "news", "packs"]
    assert await bench.column("titles", key="news") == ["new"]


async def test_channels_that_a_person_did_not_choose_are_not_new(bench: Bench) -> None:
    bench.world.add_stream("general", parent="guild")
    bench.world.add_stream("noise", parent="guild")
    links, now = bench.parts.links, bench.clock.now()
    await bench.follow()
    await bench.rows("delete from channel where key in ('noise', 'packs')")
    account = await bench.account()
    found = await discover(links, account)
    home = home_of(links, account)

    async def follow_one(tx: Tx) -> None:
        await follow(tx, choose(found, ["general"]), home, ids=bench.parts.ids, now=now)
        await note_listed(tx, found, home, links, now=now)

    await bench.do(follow_one)
    await bench.rest(DAY_S)
    assert await keys(bench) == ["general"]


async def test_what_a_person_removed_is_not_followed_again(bench: Bench) -> None:
    await follow_guild(bench)
    bench.world.add_stream("news", parent="guild")
    await bench.rest(DAY_S)
    channel_id = (await bench.stream("news")).id
    await bench.do(lambda tx: remove_channel(tx, channel_id, now=bench.clock.now()))
    await bench.rows("delete from seen_channel")
    await bench.rest(DAY_S)
    assert await keys(bench) == ["general", "packs"]


async def test_a_renamed_channel_and_new_and_gone_topics_are_noticed(bench: Bench) -> None:
    bench.world.add_stream("forum", title="Forum", topics=["old", "stays"])
    await bench.follow()
    await bench.work()
    forum = bench.world.streams["forum"]
    forum.title = "Renamed"
    forum.topics[:] = ["stays", "new"]
    await bench.rest(DAY_S)
    explained = await bench.explain("forum")
    assert explained.stream.title == "Renamed"
    assert {topic.key: topic.gone_at is None for topic in explained.topics} == {
        "old": False,
        "stays": True,
        "new": True,
    }


async def test_a_channel_that_vanished_is_marked_and_kept_until_it_is_back(bench: Bench) -> None:
    bench.world.fill("packs", 5, shape="archive")
    bench.world.add_stream("other")
    await bench.follow()
    await bench.work()
    bench.world.kick("reader", "packs")
    await bench.rest(DAY_S)
    assert (await bench.explain()).stream.gone_at is not None
    assert len(await bench.column("titles", key="packs")) == 5
    bench.world.admit("reader", "packs")
    await bench.rest(DAY_S)
    assert (await bench.explain()).stream.gone_at is None


async def test_an_event_of_an_unknown_stream_has_channels_listed(bench: Bench) -> None:
    await follow_guild(bench)
    await bench.pass_time(700)
    bench.world.add_stream("news", parent="guild")
    live = await bench.live()
    live.take(LiveEvent("message", "news", bench.world.post("news", files=[file_of("new.zip", b"x")])))
    await live.flush()
    await bench.work()
    assert "news" in await keys(bench)
    # What is listed and not followed does not have them listed again.
    calls = bench.calls("discover")
    bench.world.add_stream("elsewhere")
    await bench.pass_time(700)
    await bench.do(lambda tx: ask(tx, bench))
    await bench.work()
    live = await bench.live()
    await bench.pass_time(700)
    live.take(LiveEvent("message", "elsewhere", bench.world.post("elsewhere", text="hello")))
    await live.flush()
    await bench.work()
    assert bench.calls("discover") == calls + 1


async def test_a_listener_that_hears_of_changed_channels_has_them_listed(bench: Bench) -> None:
    await follow_guild(bench)
    await bench.pass_time(700)
    bench.world.add_stream("news", parent="guild")
    live = await bench.live()
    live.take(LiveEvent("channels"))
    await live.flush()
    await bench.work()
    assert "news" in await keys(bench)


async def test_a_new_channel_inside_a_followed_one_is_followed(bench: Bench) -> None:
    await follow_guild(bench)
    bench.world.add_stream("thread", parent="general")
    await bench.rest(DAY_S)
    assert "thread" in await keys(bench)


async def ask(tx: Tx, bench: Bench) -> None:
    account = (await bench.account()).id
    await ask_discovery(tx, account, now=bench.clock.now())


async def test_a_listing_that_fails_says_so_and_is_tried_again_soon(bench: Bench) -> None:
    await follow_guild(bench)
    bench.fail_next("discover.before_effect", SimTimeout("discover"))
    await bench.rest(DAY_S)
    (row,) = await bench.rows("select discover_error, discover_at from account")
    assert row["discover_error"]
    bench.world.add_stream("news", parent="guild")
    await bench.rest(1000)
    assert "news" in await keys(bench)


async def test_an_answer_without_any_channel_marks_nothing_as_gone_and_says_so(bench: Bench) -> None:
    await follow_guild(bench)
    bench.world.kick("reader", "packs")
    bench.world.kick("reader", "general")
    await bench.rest(DAY_S)
    assert bench.calls("discover") >= 2
    assert await bench.rows("select key from channel where gone_at is not null") == []
    (row,) = await bench.rows("select discover_error from account")
    assert "no channel at all was listed" in row["discover_error"]


async def test_an_account_whose_channels_are_all_off_is_listed_again(bench: Bench) -> None:
    bench.world.add_stream("general", title="General", parent="guild")
    await bench.follow()
    for key in ("packs", "general"):
        await bench.switch(key, on=False)
    await bench.work()
    bench.world.streams["general"].title = "Renamed"
    await bench.rest(DAY_S)
    assert (await bench.explain("general")).stream.title == "Renamed"


async def test_a_setting_says_how_often_channels_are_listed(bench: Bench) -> None:
    await follow_guild(bench)
    settings = load_settings({**NO_DOWNLOADS, "HEADGATE_INTAKE_DISCOVER_EVERY_S": "600"})
    bench.parts = build_parts(
        settings,
        bench.url,
        bench.database,
        clock=bench.clock,
        randomness=Randomness(2),
        connectors=bench.parts.links.connectors,
    )
    bench.claimer = None
    await bench.rest(DAY_S)
    calls = bench.calls("discover")
    await bench.rest(900)
    assert bench.calls("discover") == calls + 1
