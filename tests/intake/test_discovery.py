"""Discovery: what an account sees becomes channels, streams, watches and topics, once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bench import START, Bench

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import UserError
from headgate.intake.channels.discovery import choose, discover, follow, follow_all, home_of
from headgate.lanes.links import AccountRef
from headgate.storage.channels.following import Followed, Whose


async def rows(bench: Bench, sql: str) -> list[dict[str, Any]]:
    async with bench.database.transaction() as tx:
        return await tx.raw(sql)


async def values(bench: Bench, sql: str) -> list[Any]:
    return [next(iter(row.values())) for row in await rows(bench, sql)]


async def follow_as(bench: Bench, name: str) -> int:
    return await follow_all(bench.database, bench.parts.links, bench.parts.ids, bench.clock, name=name)


async def follow_found(bench: Bench, *found: FoundChannel) -> Followed:
    account = await bench.account()
    async with bench.database.transaction() as tx:
        home = Whose(account.id, "simulated", "")
        return await follow(tx, found, home, ids=bench.parts.ids, now=bench.clock.now())


async def test_a_new_stream_is_due_at_once_and_read_by_who_found_it(bench: Bench) -> None:
    assert await follow_as(bench, "reader") == 1
    assert await rows(
        bench,
        "select c.key, c.kind, s.due_at, s.reason, s.tier, v.lens, v.ranges::text as ranges, a.name"
        " from channel c join stream s on s.channel_id = c.id join coverage v on v.channel_id = c.id"
        " join watch w on w.channel_id = c.id join account a on a.id = s.reader_id and a.id = w.account_id",
    ) == [
        {
            "key": "packs",
            "kind": "stream",
            "due_at": START,
            "reason": "never_scanned",
            "tier": "WARM",
            "lens": "everything",
            "ranges": "{}",
            "name": "reader",
        }
    ]


async def test_following_again_changes_nothing_but_the_title(bench: Bench) -> None:
    await follow_as(bench, "reader")
    before = await rows(bench, "select * from stream")
    bench.world.streams["packs"].title = "Packs and more"
    bench.clock.advance(60)
    assert await follow_as(bench, "reader") == 0
    assert await rows(bench, "select * from stream") == before
    assert await values(bench, "select title from channel") == ["Packs and more"]


async def test_a_second_account_on_a_known_channel_stands_by(bench: Bench) -> None:
    bench.world.add_account("second")
    await follow_as(bench, "reader")
    assert await follow_as(bench, "second") == 0
    assert await values(
        bench, "select a.name from watch w join account a on a.id = w.account_id order by 1"
    ) == [
        "reader",
        "second",
    ]
    assert await values(bench, "select a.name from stream s join account a on a.id = s.reader_id") == [
        "reader"
    ]


async def test_a_stream_that_nobody_can_read_is_taken_over_and_due(bench: Bench) -> None:
    bench.world.add_account("second")
    await follow_as(bench, "reader")
    await rows(bench, "update account set state = 'banned'")
    await rows(bench, "update stream set due_at = due_at + interval '1 day'")
    await follow_as(bench, "second")
    assert await rows(
        bench, "select a.name, s.due_at from stream s join account a on a.id = s.reader_id"
    ) == [{"name": "second", "due_at": START}]


async def test_topics_come_go_and_come_back(bench: Bench) -> None:
    world = bench.world
    world.convert_to_forum("packs", ["tools", "maps"])
    await follow_as(bench, "reader")
    world.streams["packs"].topics.remove("maps")
    world.create_topic("packs", "props")
    bench.clock.advance(60)
    await follow_as(bench, "reader")
    gone = "select key from topic where gone_at is not null order by 1"
    assert await values(bench, "select key from topic order by 1") == ["maps", "props", "tools"]
    assert await values(bench, gone) == ["maps"]
    world.create_topic("packs", "maps")
    await follow_as(bench, "reader")
    assert await values(bench, gone) == []


async def test_a_stand_by_that_sees_fewer_topics_ends_none(bench: Bench) -> None:
    bench.world.convert_to_forum("packs", ["tools"])
    bench.world.add_account("second")
    await follow_as(bench, "reader")
    bench.world.streams["packs"].topics.clear()
    await follow_as(bench, "second")
    assert await values(bench, "select key from topic where gone_at is null") == ["tools"]


async def test_channels_stand_under_their_parents(bench: Bench) -> None:
    await follow_as(bench, "reader")
    await follow_found(
        bench,
        FoundChannel("clips", "Clips", "stream", parent="guild"),
        FoundChannel("thread", "A thread", "stream", parent="packs"),
    )
    related = (
        "select c.key, p.key as parent, p.kind from channel c join channel p on p.id = c.parent_id order by 1"
    )
    assert await rows(bench, related) == [
        {"key": "clips", "parent": "guild", "kind": "parent"},
        {"key": "thread", "parent": "packs", "kind": "stream"},
    ]


async def test_a_parent_has_a_title_which_can_change(bench: Bench) -> None:
    await follow_as(bench, "reader")
    clips = FoundChannel("clips", "Clips", "stream", parent="guild", parent_title="The Guild")
    await follow_found(bench, clips)
    titles = "select title from channel where kind = 'parent'"
    assert await values(bench, titles) == ["The Guild"]
    await follow_found(bench, replace(clips, parent_title="The Old Guild"))
    assert await values(bench, titles) == ["The Old Guild"]


async def test_a_parent_that_turns_out_to_be_a_stream_becomes_one(bench: Bench) -> None:
    await follow_as(bench, "reader")
    await follow_found(bench, FoundChannel("thread", "A thread", "stream", parent="hall"))
    done = await follow_found(bench, FoundChannel("hall", "The hall", "stream"))
    assert len(done.streams) == 1
    assert await rows(bench, "select kind, title from channel where key = 'hall'") == [
        {"kind": "stream", "title": "The hall"}
    ]


async def test_a_channel_that_moved_to_another_parent_is_named(bench: Bench) -> None:
    await follow_as(bench, "reader")
    first = await follow_found(bench, FoundChannel("clips", "Clips", "stream", parent="guild"))
    assert first.moved == ()
    second = await follow_found(bench, FoundChannel("clips", "Clips", "stream", parent="other"))
    assert second.moved == first.streams


async def test_a_new_channel_under_a_parent_that_is_off_waits(bench: Bench) -> None:
    await follow_as(bench, "reader")
    await follow_found(bench, FoundChannel("clips", "Clips", "stream", parent="guild"))
    await rows(bench, "update channel set message_scan_enabled = false where key = 'guild'")
    await follow_found(bench, FoundChannel("shots", "Shots", "stream", parent="guild"))
    due = "select s.due_at from stream s join channel c on c.id = s.channel_id where c.key = 'shots'"
    assert await values(bench, due) == [None]


async def test_a_group_that_moved_goes_on_from_the_old_one(bench: Bench) -> None:
    await follow_as(bench, "reader")
    bench.world.migrate_group("packs")
    assert await follow_as(bench, "reader") == 1
    assert await rows(
        bench, "select n.key, o.key as old from channel n join channel o on o.id = n.continues_id"
    ) == [{"key": "packs-moved", "old": "packs"}]


async def test_positions_of_an_account_make_channels_of_its_own(bench: Bench) -> None:
    await bench.follow()
    first = await bench.account()
    second = AccountRef(bench.parts.ids.new(), "simulated", "second", established=True)
    await rows(
        bench,
        "insert into account (id, platform, name, created_at)"
        f" values ('{second.id}', 'simulated', 'second', '2026-03-01')",
    )
    for account in (first, second):
        async with bench.database.transaction() as tx:
            whose = Whose(account.id, "simulated", str(account.id))
            channel = FoundChannel("group", "Group", "stream")
            await follow(tx, [channel], whose, ids=bench.parts.ids, now=START)
    assert len(await values(bench, "select id from channel where key = 'group'")) == 2


async def test_only_chosen_channels_are_followed_and_others_are_refused(bench: Bench) -> None:
    bench.world.add_stream("maps", title="Maps")
    await bench.follow()
    account = await bench.account()
    found = await discover(bench.parts.links, account)
    assert [one.key for one in choose(found, ["Maps", "maps"])] == ["maps"]
    with pytest.raises(UserError, match=r"sees no channel 'mops'\. Did you mean 'maps'"):
        choose(found, ["mops"])
    assert home_of(bench.parts.links, account) == Whose(account.id, "simulated", "")
