"""A sweep of MangaDex: what has changed on the whole site, whoever follows it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from mangadex_server import MangaDexServer
from mangadex_stage import connect, sweep_all, swept_keys

from headgate.connectors.protocol import Link
from headgate.domain.listings.listings import BadEntry
from headgate.kernel.clock import VirtualClock
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SINCE_NOON = {"since": "2026-03-01T12:00:00"}


@pytest.mark.parametrize(("tells_time", "since"), [(True, "11:59:00"), (False, "11:29:00")])
async def test_an_empty_cursor_begins_now_by_the_servers_clock(
    server: MangaDexServer, *, tells_time: bool, since: str
) -> None:
    server.add_chapter(server.add_manga(), at=NOON - timedelta(minutes=30))
    server.tells_time = tells_time
    slow = VirtualClock(NOON - timedelta(hours=5))
    link = await connect(server, clock=slow).open("anonymous", {}, VolatileMemory())
    begun = await link.sweep("", {})
    await link.close()
    assert (begun.entries, begun.more, begun.cursor) == ({}, False, {"since": f"2026-03-01T{since}"})
    assert len(server.calls) == 1


async def test_20_changed_series_of_many_are_told_in_one_call(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    series = [server.add_manga(f"Series {number}") for number in range(1000)]
    for manga in series:
        server.add_chapter(manga, at=NOON - timedelta(days=2))
    cursor = (await guest.sweep("", {})).cursor
    clock.advance(300)
    changed = {manga: server.add_chapter(manga, "2") for manga in series[100:120]}
    server.calls.clear()
    swept = await guest.sweep("", cursor)
    assert {manga: entries[0].key for manga, entries in swept.entries.items()} == changed
    assert (swept.more, swept.gap, len(server.calls)) == (False, False, 1)


async def test_a_sweep_asks_for_all_ratings_groups_and_a_time_without_offset(
    server: MangaDexServer, guest: Link
) -> None:
    manga = server.add_manga(rating="pornographic")
    server.add_chapter(manga, "7", groups=["Group"], translatedLanguage="fr")
    swept = await guest.sweep("", {"since": "2026-03-01T13:00:00+01:00"})
    entry = swept.entries[manga][0]
    assert (entry.number, entry.group, entry.language) == ("7", "Group", "fr")
    assert server.calls[0].one("updatedAtSince") == "2026-03-01T12:00:00"
    assert server.calls[0].one("limit") == "100"


async def test_the_last_minute_is_told_again_because_the_search_lags(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga()
    clock.advance(600)
    server.add_chapter(manga, "2")
    first = await guest.sweep("", SINCE_NOON)
    late = server.add_chapter(manga, "1", at=clock.now() - timedelta(seconds=40))
    second = await guest.sweep("", first.cursor)
    third = await guest.sweep("", second.cursor)
    assert late in {entry.key for entry in second.entries[manga]}
    assert third.cursor == second.cursor, "the same minute for as long as nothing happens"
    assert not third.more


async def test_a_sweep_over_many_pages_ends_and_leaves_nothing_out(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga()
    keys = {server.add_chapter(manga, str(n), at=NOON + timedelta(seconds=n // 3)) for n in range(1000)}
    clock.advance(3600)
    parts = await sweep_all(guest, SINCE_NOON)
    assert swept_keys(parts) == keys
    assert len(parts) <= 12
    assert not any(part.gap for part in parts)


async def test_a_chapter_that_changes_again_meanwhile_hides_no_other(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga()
    keys = [server.add_chapter(manga, str(n), at=NOON + timedelta(seconds=n)) for n in range(250)]
    clock.advance(3600)
    first = await guest.sweep("", SINCE_NOON)
    for key in keys[:50]:
        server.update_chapter(key, title="Changed again")
    rest = await sweep_all(guest, first.cursor)
    assert swept_keys([first, *rest]) == set(keys)


async def test_a_sweep_can_go_on_after_any_part(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga()
    keys = {server.add_chapter(manga, str(n), at=NOON + timedelta(seconds=n)) for n in range(150)}
    clock.advance(3600)
    first = await guest.sweep("", SINCE_NOON)
    once = await guest.sweep("", first.cursor)
    twice = await guest.sweep("", first.cursor)
    assert once == twice
    assert swept_keys([first, once]) == keys


async def test_more_than_a_page_in_one_second_is_told(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga()
    keys = {server.add_chapter(manga, str(number)) for number in range(350)}
    keys.add(server.add_chapter(manga, "after", at=NOON + timedelta(seconds=9)))
    clock.advance(3600)
    parts = await sweep_all(guest, SINCE_NOON)
    assert swept_keys(parts) == keys
    assert not any(part.gap for part in parts)


async def test_more_than_the_window_in_one_second_is_a_gap_and_the_sweep_goes_on(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga()
    for number in range(10_100):
        server.add_chapter(manga, str(number))
    after = server.add_chapter(manga, "after", at=NOON + timedelta(seconds=9))
    clock.advance(3600)
    part = await guest.sweep("", {**SINCE_NOON, "offset": "9850"})
    parts = [part, *await sweep_all(guest, part.cursor)]
    assert [part.gap for part in parts].count(True) == 1
    assert after in swept_keys(parts)
    assert all(int(call.one("offset")) + 100 <= 10_000 for call in server.calls)


async def test_nothing_new_leaves_the_cursor_where_it_is(server: MangaDexServer, guest: Link) -> None:
    swept = await guest.sweep("", SINCE_NOON)
    assert (swept.entries, swept.cursor, swept.more) == ({}, SINCE_NOON, False)


async def test_a_chapter_that_is_held_back_is_told_when_it_can_be_read(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga()
    server.add_chapter(manga, "1")
    held = server.add_chapter(manga, "2", readableAt=(NOON + timedelta(hours=2)).isoformat())
    gone = server.add_chapter(manga, "3", readableAt=(NOON + timedelta(hours=2)).isoformat())
    first = await guest.sweep("", SINCE_NOON)
    clock.advance(3600)
    second = await guest.sweep("", first.cursor)
    server.remove_chapter(gone)
    clock.advance(3600)
    server.calls.clear()
    parts = await sweep_all(guest, second.cursor)
    assert held not in swept_keys([first, second])
    assert held in swept_keys(parts)
    assert [call.params.get("ids[]") for call in server.calls] == [sorted([held, gone]), None]
    assert "held" not in parts[-1].cursor


async def test_a_slow_clock_of_ours_holds_nothing_back(server: MangaDexServer) -> None:
    manga = server.add_manga()
    server.add_chapter(manga)
    link = await connect(server, clock=VirtualClock(NOON - timedelta(hours=5))).open(
        "anonymous", {}, VolatileMemory()
    )
    swept, listed = await link.sweep("", SINCE_NOON), await link.list(manga, {})
    await link.close()
    assert (len(swept.entries[manga]), len(listed.entries)) == (1, 1)


async def test_a_broken_chapter_is_bad_alone_in_a_sweep(server: MangaDexServer, guest: Link) -> None:
    manga, other = server.add_manga(), server.add_manga()
    broken = server.add_chapter(manga, "1", readableAt=5)
    good = server.add_chapter(other, "1")
    swept = await guest.sweep("", SINCE_NOON)
    assert swept_keys([swept]) == {good}
    assert swept.bad == {manga: (BadEntry(broken, "readableAt is no text: 5"),)}
