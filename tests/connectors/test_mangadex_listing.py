"""A listing of MangaDex: what is told of a chapter, page by page, and when it counts as everything."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mangadex_server import MangaDexServer
from mangadex_stage import SITE, error_of, list_all

from headgate.connectors.mangadex import MangaDexConnector
from headgate.connectors.protocol import Link
from headgate.domain.errors import Gone
from headgate.domain.listings.listings import Entry, Listed
from headgate.kernel.clock import VirtualClock

pytestmark = pytest.mark.once

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _fill(server: MangaDexServer, count: int, *, apart_s: int = 60) -> tuple[str, list[str]]:
    """Return a series with chapters that were changed one after the other, the newest last."""
    manga = server.add_manga("Long")
    first_at = NOON - timedelta(days=30)
    times = [first_at + timedelta(seconds=number * apart_s) for number in range(count)]
    return manga, [server.add_chapter(manga, str(n), at=at) for n, at in enumerate(times, start=1)]


def _told(parts: list[Listed]) -> list[str]:
    return [entry.key for part in parts for entry in part.entries]


async def test_an_entry_says_what_the_site_says_of_a_chapter(server: MangaDexServer, guest: Link) -> None:
    manga = server.add_manga()
    key = server.add_chapter(
        manga, "45.10", volume="3", title="The Gate", translatedLanguage="pt-BR", groups=["Zeta", "alpha"]
    )
    listed = await guest.list(manga, {})
    assert listed.entries == (
        Entry(
            key,
            "The Gate",
            f"{SITE}/chapter/{key}",
            NOON,
            number="45.10",
            volume="3",
            language="pt-br",
            group="alpha & Zeta",
        ),
    )
    assert listed.complete
    assert not listed.more


async def test_the_series_comes_along_with_the_first_part(server: MangaDexServer, guest: Link) -> None:
    manga = server.add_manga("Named", numbers_reset=True)
    server.add_chapter(manga)
    listed = await guest.list(manga, {})
    assert (listed.title, listed.numbers_reset) == ("Named", True)
    assert server.paths() == [f"/manga/{manga}/feed"]


async def test_the_series_is_asked_for_again_after_a_week(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga("Named")
    server.add_chapter(manga)
    first = await guest.list(manga, {})
    server.manga[manga]["attributes"]["title"] = {"en": "Renamed"}
    soon = await guest.list(manga, first.cursor)
    clock.advance(8 * 86400)
    later = await guest.list(manga, soon.cursor)
    assert (soon.unchanged, soon.title) == (True, "")
    assert (later.unchanged, later.title) == (True, "Renamed")
    assert ["manga" in call.params["includes[]"] for call in server.calls] == [True, False, True]


async def test_every_content_rating_is_asked_for(server: MangaDexServer, guest: Link) -> None:
    manga = server.add_manga(rating="pornographic")
    key = server.add_chapter(manga)
    listed = await guest.list(manga, {})
    assert _told([listed]) == [key]
    ratings = server.calls[0].params["contentRating[]"]
    assert ratings == ["safe", "suggestive", "erotica", "pornographic"]


@pytest.mark.parametrize(
    ("groups", "told"),
    [([], ""), (["No Group"], ""), (["One"], "One"), (["b", "A", "No group"], "A & b"), (["a", "a"], "a")],
)
async def test_groups_are_named_together_and_no_group_is_none(
    server: MangaDexServer, guest: Link, groups: list[str], told: str
) -> None:
    manga = server.add_manga()
    server.add_chapter(manga, groups=groups)
    listed = await guest.list(manga, {})
    assert [entry.group for entry in listed.entries] == [told]


async def test_an_external_chapter_is_read_elsewhere(server: MangaDexServer, guest: Link) -> None:
    manga = server.add_manga()
    away = server.add_chapter(manga, externalUrl="https://publisher.example/1", pages=0)
    odd = server.add_chapter(manga, externalUrl="javascript:alert(1)", pages=0)
    listed = await guest.list(manga, {})
    told = {entry.key: (entry.url, entry.external) for entry in listed.entries}
    assert told == {
        away: ("https://publisher.example/1", True),
        odd: (f"{SITE}/chapter/{odd}", True),
    }


async def test_what_has_neither_number_nor_title_is_a_oneshot(server: MangaDexServer, guest: Link) -> None:
    manga = server.add_manga()
    server.add_chapter(manga, None, title=None)
    server.add_chapter(manga, "2", title=None)
    listed = await guest.list(manga, {})
    assert {(entry.number, entry.title) for entry in listed.entries} == {("", "Oneshot"), ("2", "")}


@pytest.mark.parametrize(
    "text",
    ["2026-02-01T10:00:00+00:00", "2026-02-01T10:00:00Z", "2026-02-01T11:00:00+01:00", "2026-02-01T10:00:00"],
)
async def test_times_are_told_in_utc_however_they_are_written(
    server: MangaDexServer, guest: Link, text: str
) -> None:
    manga = server.add_manga()
    server.add_chapter(manga, publishAt=text, readableAt=None)
    listed = await guest.list(manga, {})
    assert [entry.published_at for entry in listed.entries] == [datetime(2026, 2, 1, 10, tzinfo=UTC)]


async def test_a_chapter_that_was_held_back_is_published_when_it_can_be_read(
    server: MangaDexServer, guest: Link
) -> None:
    manga = server.add_manga()
    readable_at = NOON - timedelta(hours=1)
    server.add_chapter(manga, publishAt="2026-01-01T00:00:00+00:00", readableAt=readable_at.isoformat())
    listed = await guest.list(manga, {})
    assert [entry.published_at for entry in listed.entries] == [readable_at]


async def test_what_cannot_be_read_yet_is_left_out_until_it_can(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga = server.add_manga()
    now = server.add_chapter(manga, "1")
    later = server.add_chapter(manga, "2", readableAt=(NOON + timedelta(hours=2)).isoformat())
    server.add_chapter(manga, "3", isUnavailable=True)
    first = await guest.list(manga, {})
    clock.advance(3600)
    second = await guest.list(manga, first.cursor)
    clock.advance(3600)
    third = await guest.list(manga, second.cursor)
    fourth = await guest.list(manga, third.cursor)
    assert _told([first]) == [now]
    assert second.unchanged
    assert set(_told([third])) == {now, later}
    assert fourth.unchanged


async def test_what_is_held_back_on_a_later_page_is_not_forgotten(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga, keys = _fill(server, 250)
    server.chapters[keys[0]]["attributes"]["readableAt"] = (NOON + timedelta(hours=2)).isoformat()
    parts = await list_all(guest, manga)
    clock.advance(7200)
    again = await list_all(guest, manga, parts[-1].cursor)
    assert keys[0] not in _told(parts)
    assert keys[0] in _told(again)
    assert (await guest.list(manga, again[-1].cursor)).unchanged


async def test_1200_chapters_are_told_over_pages_each_once(server: MangaDexServer, guest: Link) -> None:
    manga, keys = _fill(server, 1200)
    parts = await list_all(guest, manga)
    assert _told(parts) == keys[::-1]
    assert [part.complete for part in parts] == [False] * (len(parts) - 1) + [True]
    assert len(server.calls) == len(parts) == 4
    assert max(int(call.one("limit")) for call in server.calls) == 500


async def test_a_long_listing_that_has_not_changed_costs_one_call(
    server: MangaDexServer, guest: Link
) -> None:
    manga, _ = _fill(server, 1200)
    parts = await list_all(guest, manga)
    server.calls.clear()
    again = await guest.list(manga, parts[-1].cursor)
    assert (again.unchanged, again.entries, again.more) == (True, (), False)
    assert len(server.calls) == 1


async def test_a_change_on_the_last_page_is_seen_on_the_first(
    server: MangaDexServer, guest: Link, clock: VirtualClock
) -> None:
    manga, keys = _fill(server, 1200)
    parts = await list_all(guest, manga)
    clock.advance(60)
    server.update_chapter(keys[0], title="A better title")
    again = await list_all(guest, manga, parts[-1].cursor)
    assert again[0].entries[0].title == "A better title"
    assert set(_told(again)) == set(keys)
    assert again[-1].complete


async def test_a_removed_chapter_is_missing_from_what_is_complete(
    server: MangaDexServer, guest: Link
) -> None:
    manga, keys = _fill(server, 1200)
    parts = await list_all(guest, manga)
    server.remove_chapter(keys[3])
    again = await list_all(guest, manga, parts[-1].cursor)
    assert set(keys) - set(_told(again)) == {keys[3]}
    assert again[-1].complete


def _change(server: MangaDexServer, manga: str, keys: list[str], change: str) -> None:
    """Let a list move, after its newest hundred chapters were told."""
    if change == "added":
        server.add_chapter(manga, "new")
    elif change == "changed":
        server.update_chapter(keys[0], title="Moved to the top")
    elif change == "removed":
        server.remove_chapter(keys[-1])
    elif change == "removed further on":
        server.remove_chapter(keys[0])
    else:
        server.remove_chapter(keys[-1])
        server.add_chapter(manga, "0", at=NOON - timedelta(days=900))


@pytest.mark.parametrize("apart_s", [0, 60])
@pytest.mark.parametrize(
    "change", ["added", "changed", "removed", "removed further on", "removed, and an old one appeared"]
)
async def test_a_list_that_moves_while_it_is_told_is_not_complete_and_is_told_again(
    server: MangaDexServer, guest: Link, clock: VirtualClock, change: str, apart_s: int
) -> None:
    manga, _ = _fill(server, 250, apart_s=apart_s)
    in_order = [entry.key for part in await list_all(guest, manga) for entry in part.entries]
    first = await guest.list(manga, {})
    clock.advance(60)
    _change(server, manga, in_order[::-1], change)
    rest = await list_all(guest, manga, first.cursor)
    assert not any(part.complete for part in rest)
    again = await list_all(guest, manga, rest[-1].cursor)
    assert set(_told(again)) == set(server.chapters)
    assert again[-1].complete


async def test_chapters_that_changed_in_one_moment_are_told_each_once(
    server: MangaDexServer, guest: Link
) -> None:
    manga, keys = _fill(server, 250, apart_s=0)
    parts = await list_all(guest, manga)
    assert sorted(_told(parts)) == sorted(keys)
    assert parts[-1].complete


@pytest.mark.long
async def test_the_window_of_the_api_is_kept(server: MangaDexServer, guest: Link) -> None:
    manga, keys = _fill(server, 10_050, apart_s=1)
    parts = await list_all(guest, manga)
    assert _told(parts) == keys[:49:-1]
    assert not parts[-1].complete
    assert parts[-1].warnings == (
        "MangaDex has 10050 chapters of this series, but tells only the newest 10000",
    )
    assert all(int(call.one("offset")) + int(call.one("limit")) <= 10_000 for call in server.calls)
    again = await guest.list(manga, parts[-1].cursor)
    assert again.unchanged


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"chapter": 4}, "chapter is no text: 4"),
        ({"publishAt": "yesterday"}, "publishAt is no time: 'yesterday'"),
        ({"updatedAt": None}, "updatedAt is missing"),
        ({"title": {"en": "x"}}, "title is no text: {'en': 'x'}"),
    ],
)
async def test_a_broken_chapter_is_bad_alone(
    server: MangaDexServer, guest: Link, attributes: dict[str, Any], reason: str
) -> None:
    manga = server.add_manga()
    good = server.add_chapter(manga, "1")
    broken = server.add_chapter(manga, "2", **attributes)
    listed = await guest.list(manga, {})
    assert _told([listed]) == [good]
    assert [(bad.key, bad.reason) for bad in listed.bad] == [(broken, reason)]
    assert not listed.complete, "a release of the broken chapter must not count as removed"
    assert (await guest.list(manga, listed.cursor)).unchanged


async def test_unknown_fields_are_left_aside_and_no_text_breaks_a_database(
    server: MangaDexServer, guest: Link
) -> None:
    manga = server.add_manga()
    server.add_chapter(manga, "1", title="a\0b\ud800c", novelty={"a": [1]})
    listed = await guest.list(manga, {})
    assert [entry.title for entry in listed.entries] == ["ab?c"]


async def test_a_series_that_is_not_there_is_gone(
    server: MangaDexServer, guest: Link, connector: MangaDexConnector
) -> None:
    manga = server.add_manga()
    server.remove_manga(manga)
    assert type(await error_of(connector, guest.list(manga, {}))) is Gone
    assert type(await error_of(connector, guest.list("no-uuid", {}))) is Gone


async def test_an_empty_list_is_believed_only_when_the_series_is_there(
    server: MangaDexServer, guest: Link, connector: MangaDexConnector
) -> None:
    manga = server.add_manga("Empty")
    parts = await list_all(guest, manga)
    assert (parts[-1].complete, parts[-1].entries, parts[-1].title) == (True, (), "Empty")
    assert (await guest.list(manga, parts[-1].cursor)).unchanged
    server.fail_with(404, path=f"/manga/{manga}")
    emptied = await guest.list(manga, {})
    assert (emptied.complete, emptied.more) == (False, True)
    assert type(await error_of(connector, guest.list(manga, emptied.cursor))) is Gone
