"""`headgate series`: finding, following, reading and removing series, as a person does it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ledger import LOGIN, Ledger
from loopback_site import Site
from mangadex_server import MangaDexServer

from headgate.domain.words.frequency import FREQUENCIES
from headgate.kernel.clock import RealClock


@pytest.fixture
def shelf(ledger: Ledger) -> Ledger:
    """A demo with an account and a user, who follows nothing yet."""
    ledger.said("account", "add", "simulated", "atlas", "--established", *LOGIN)
    ledger.add_user("Ada")
    return ledger


@pytest.fixture
def mangadex(monkeypatch: pytest.MonkeyPatch) -> Iterator[MangaDexServer]:
    server = MangaDexServer(RealClock()).start()
    monkeypatch.setenv("HEADGATE_MANGADEX_API", server.api)
    yield server
    server.stop()


def test_without_series_it_is_said_how_to_get_some(shelf: Ledger) -> None:
    assert "`headgate series add TITLE`" in shelf.said("series", "list")
    assert shelf.said("series", "list", "--search", "x") == "No series is like that.\n"


def test_an_added_series_is_looked_at_and_shown_with_its_chapters(shelf: Ledger) -> None:
    said = shelf.said("series", "add", "salt road", "--follow", "ada")
    assert "Salt Road comes from simulated: Salt Road." in said
    assert "`headgate series show 'Salt Road'`" in said
    assert "Ada is notified of chapters published from now on." in said
    assert "not read yet" in shelf.said("series", "show", "Salt Road")

    shelf.carry_out("poll")
    shown = shelf.document("series", "show", "salt road", "--limit", "3")
    assert shown["followed"]
    assert shown["unread"] > 3
    assert len(shown["chapters"]) == 3
    assert shown["chapters"][0]["number"] == shown["latest_chapter"]
    assert shown["chapters"][0]["releases"][0]["platform"] == "simulated"
    (source,) = shown["sources"]
    assert source["state"] == "OK"
    assert source["frequency"] in FREQUENCIES.values()
    text = shelf.said("series", "show", "salt road", "--limit", "3")
    assert f"the latest is {shown['latest_chapter']}" in text
    assert "followed                by Ada, in the list and by push" in text
    assert ", OK" in text
    assert "--limit shows them." in text


def test_the_list_counts_what_the_only_user_has_not_read(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    shelf.said("series", "add", "nine-lanterns", "--follow", "Ada")
    shelf.carry_out("poll")
    listed = {one["title"]: one for one in shelf.document("series", "list")}
    assert {title: one["followed"] for title, one in listed.items()} == {
        "Nine Lanterns": True,
        "Salt Road": False,
    }
    assert all(one["unread"] == one["chapters"] > 0 for one in listed.values())
    assert [one["title"] for one in shelf.document("series", "list", "--followed", "ada")] == [
        "Nine Lanterns"
    ]
    assert [one["title"] for one in shelf.document("series", "list", "--search", "SALT")] == ["Salt Road"]
    assert [one["title"] for one in shelf.document("series", "list", "--limit", "1")] == ["Nine Lanterns"]
    assert "--all shows them" in shelf.said("series", "list", "--limit", "1")
    assert len(shelf.document("series", "list", "--limit", "1", "--all")) == 2
    shelf.add_user("Bo")
    assert [one["unread"] for one in shelf.document("series", "list")] == [None, None]


def test_what_is_read_is_counted_down_and_can_be_taken_back(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    shelf.carry_out("poll")
    total = shelf.document("series", "show", "salt road")["unread"]
    numbers = [one["number"] for one in shelf.document("series", "show", "salt road")["chapters"]]
    assert shelf.document("series", "read", "salt road", numbers[2])["unread"] == 2
    assert "0 chapters left for Ada" in shelf.said("series", "read", "salt road", "latest")
    assert shelf.document("series", "unread", "salt road", numbers[0])["unread"] == 1
    assert f"unread from {numbers[-1]} on; {total} chapters left" in shelf.said(
        "series", "unread", "salt road", f"Chapter {numbers[-1]}"
    )
    assert "Salt Road has no chapter '9999'." in shelf.refused("series", "read", "salt road", "9999")


def test_a_series_that_is_not_there_is_told_with_the_nearest(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    for command in (["show"], ["remove"], ["follow"], ["unfollow"]):
        assert "There is no series 'Salt Rod'. Did you mean 'Salt Road'?" in shelf.refused(
            "series", *command, "Salt Rod"
        )
    assert "Nothing was found for 'Pepper' on simulated." in shelf.refused("series", "add", "Pepper")
    assert "Available: " in shelf.refused("series", "add", "x", "--platform", "nowhere")


def test_following_says_how_and_again_changes_it(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    assert shelf.said("series", "follow", "salt road", "--no-push", "--language", "EN") == (
        "Ada is notified of new chapters of Salt Road, in the list, only in en.\n"
    )
    assert "in the list and by push, once a source" in shelf.said(
        "series", "follow", "salt road", "--per", "source"
    )
    assert "nothing to notify" in shelf.refused("series", "follow", "salt road", "--no-push", "--no-in-app")
    shelf.said("series", "unfollow", "salt road")
    assert "Ada does not follow Salt Road." in shelf.refused("series", "unfollow", "salt road")


def test_of_several_users_one_has_to_be_named(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    shelf.add_user("Bo")
    assert "There are 2 users: Ada, Bo. Choose one with --user NAME." in shelf.refused(
        "series", "follow", "salt road"
    )
    assert "There is no user 'Bob'. Did you mean 'Bo'?" in shelf.refused(
        "series", "follow", "salt road", "--user", "Bob"
    )
    assert "Bo is notified of" in shelf.said("series", "follow", "salt road", "--user", "bo")


def test_a_feed_is_another_source_of_a_series_by_a_pattern(shelf: Ledger, site: Site) -> None:
    feed = site.feed("/all.xml", "Scans", "Salt Road 9001 - The Gate", "Other 3")
    shelf.said("series", "add", "salt-road")
    assert "does not name a series" in shelf.refused("series", "add", feed)
    assert "cannot contain {x}" in shelf.refused(
        "series", "add", feed, "--to", "salt road", "--pattern", "{x}"
    )
    shelf.said(
        "series", "add", feed, "--to", "salt road", "--pattern", "Salt Road {number}*", "--language", "EN"
    )
    shelf.carry_out("poll", "ingest")
    shown = shelf.document("series", "show", "salt road")
    assert [(one["platform"], one["pattern"]) for one in shown["sources"]] == [
        ("simulated", ""),
        ("feeds", "Salt Road {number}*"),
    ]
    newest = shown["chapters"][0]
    assert (newest["number"], newest["releases"][0]["language"]) == ("9001", "en")
    assert shelf.values("select title from item where kind = 'post'") == ["Other 3"]


def test_a_pattern_names_the_series_that_it_makes(shelf: Ledger, site: Site) -> None:
    feed = site.feed("/all.xml", "Scans", "[Group] Berserk - 3")
    added = shelf.document("series", "add", feed, "--pattern", "[Group] Berserk - {number}*")
    assert (added["series_title"], added["platform"], added["is_new"]) == ("Berserk", "feeds", True)
    named = shelf.document("series", "add", feed, "--title", "All of it")
    assert (named["series_title"], named["is_new"]) == ("All of it", False)


def test_several_matches_are_listed_and_one_is_picked(shelf: Ledger, mangadex: MangaDexServer) -> None:
    first, second = mangadex.add_manga("Red Moon"), mangadex.add_manga("Red Moon Again")
    command = ["series", "add", "red moon", "--platform", "mangadex"]
    sentence = shelf.refused(*command)
    assert "2 match 'red moon' on mangadex. Choose one with --pick N: 1 Red Moon" in sentence
    assert first in sentence
    assert second in sentence
    assert "There is no match 3" in shelf.refused(*command, "--pick", "3")
    assert shelf.document(*command, "--pick", "2")["key"] == second
    assert shelf.document("series", "add", first, "--platform", "mangadex")["series_title"] == "Red Moon"


def test_a_title_is_kept_when_a_person_gave_it(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    assert shelf.said("series", "rename", "salt road", "The  Road") == "Salt Road is called The Road now.\n"
    shelf.carry_out("poll")
    assert [one["title"] for one in shelf.document("series", "list")] == ["The Road"]
    assert "A series needs a title." in shelf.refused("series", "rename", "the road", " ")


def test_a_removed_series_takes_the_source_along_that_only_it_has(shelf: Ledger, site: Site) -> None:
    feed = site.feed("/all.xml", "Scans", "Salt Road 1")
    shelf.said("series", "add", "salt-road")
    shelf.said("series", "add", feed, "--to", "salt road", "--pattern", "Salt Road {number}")
    shelf.carry_out("poll")
    assert "with" in shelf.refused("series", "remove", "salt road")
    said = shelf.said("series", "remove", "salt road", "--yes")
    assert "Salt Road is removed." in said
    assert "1 source is still followed" in said
    assert shelf.values("select platform from channel where kind = 'listing'") == ["feeds"]
    assert shelf.values("select count(*) from chapter") == [0]


def test_a_source_that_somebody_follows_stays_without_its_series(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    shelf.said("follow", "channel", "salt-road")
    assert "It is still followed." in shelf.said("series", "detach", "salt road", "simulated", "--yes")
    assert shelf.document("series", "show", "salt road")["sources"] == []
    assert "has no source to check" in shelf.refused("series", "check", "salt road")


def test_a_detached_source_that_nothing_else_needs_is_gone_with_what_it_alone_brought(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    shelf.carry_out("poll")
    assert "has no source 'feeds'" in shelf.refused("series", "detach", "salt road", "feeds", "--yes")
    assert "--yes" in shelf.refused("series", "detach", "salt road", "salt-road")
    assert shelf.document("series", "detach", "salt road", "salt-road", "--yes")["source_removed"]
    assert "It has no chapter yet." in shelf.said("series", "show", "salt road")
    assert shelf.values("select count(*) from chapter") == [0]


def test_a_look_is_asked_for_by_series_or_source(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road", "--title", "Mine")
    shelf.carry_out("poll")
    assert shelf.values("select asked from listing") == [False]
    assert "Mine is checked in a moment, at 1 source." in shelf.said("series", "check", "mine")
    assert shelf.values("select asked from listing") == [True]
    assert len(shelf.document("series", "check", "salt-road")["channel_ids"]) == 1
    assert "There is no source 'salt-rode'. Did you mean 'Salt Road'?" in shelf.refused(
        "series", "check", "salt-rode"
    )


def test_a_chosen_frequency_is_said_to_be_a_persons(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    shelf.said("series", "frequency", "salt-road", "rarely")
    assert "rarely: a person chose this" in shelf.said("explain", "salt-road")
    shelf.carry_out("poll")
    assert [one["frequency"] for one in shelf.document("explain", "salt road")] == ["rarely"]
    shelf.said("series", "frequency", "salt-road", "automatic")
    assert shelf.document("explain", "salt road")[0]["frequency_chosen"] is False


def test_a_source_is_explained_with_why_its_frequency_changed(shelf: Ledger) -> None:
    shelf.said("series", "add", "salt-road")
    shelf.rows(
        "insert into tier_change select channel_id, 1, $1, 'WARM', 'COLD', 'silent' from listing", shelf.now
    )
    text = shelf.said("explain", "salt road")
    assert "normal → rarely: It has published nothing for months." in text
    assert "source of Salt Road" in text
    assert "tier" not in text
    assert "tier" in shelf.said("explain", "salt road", "--verbose")
    assert "headgate explain" in shelf.refused("channel", "show", "salt-road")


def test_a_site_that_is_left_alone_is_named_everywhere(shelf: Ledger, site: Site) -> None:
    feed = site.feed("/all.xml", "Scans", "Salt Road 1")
    shelf.said("feed", "add", feed)
    shelf.rows(
        "update host set failures = 5, opened = 1, open_until = $1::timestamptz + interval '1 hour',"
        " error_message = 'it is on fire'",
        shelf.now,
    )
    assert "site away" in shelf.said("feed", "list")
    assert "Next try in 59 min. Last error: it is on fire." in shelf.said("feed", "list")
    assert [one["state"] for one in shelf.document("hosts", "--troubled")] == ["open"]
    assert "resting, next try in 59 min" in shelf.said("hosts")
    (sites,) = [one for one in shelf.document("doctor")["checks"] if one["name"] == "sites"]
    assert sites["status"] == "warn"
    assert "(it is on fire)" in sites["message"]
    assert "and rests for a while" in " ".join(shelf.said("explain", "Scans").split())


def test_the_pace_of_one_site_is_set_shown_and_given_back(shelf: Ledger, site: Site) -> None:
    shelf.said("feed", "add", site.feed("/all.xml", "Scans", "Salt Road 1"))
    (before,) = shelf.document("hosts")
    assert (before["per_minute"], before["pace_set"]) == (30, False)
    assert "90 a minute, chosen by a person" in shelf.said("hosts", "pace", before["name"], "90")
    assert "90 a minute" in shelf.said("hosts")
    assert "90 requests a minute" in shelf.said("explain", "Scans")
    named = f"{before['platform']}/{before['name']}"
    assert shelf.document("hosts", "pace", named, "2.5/minute")["per_minute"] == 2.5
    assert shelf.document("hosts", "pace", named, "default")["pace_set"] is False
    (after,) = shelf.document("hosts")
    assert after["per_minute"] == before["per_minute"]


def test_a_pace_that_makes_no_sense_is_refused_with_a_remedy(shelf: Ledger, site: Site) -> None:
    shelf.said("feed", "add", site.feed("/all.xml", "Scans", "Salt Road 1"))
    (host,) = shelf.document("hosts")
    assert "or `default`" in shelf.refused("hosts", "pace", host["name"], "quick")
    assert "above 0" in shelf.refused("hosts", "pace", host["name"], "0")
    assert "list of sites" in shelf.refused("hosts", "pace", "nowhere.example", "5")


def test_feeds_that_are_gone_told_to_wait_or_read_in_part_are_named_with_a_remedy(
    shelf: Ledger, site: Site
) -> None:
    names = ["Gone", "Slow", "Long", "Well"]
    for name in names:
        shelf.said("feed", "add", site.feed(f"/{name}.xml", name, "One"), "--title", name)
    shelf.rows(
        "update listing l set gone_at = case c.title when 'Gone' then $1::timestamptz end,"
        " reason = case c.title when 'Slow' then 'limited' else l.reason end,"
        " warning = case c.title when 'Long' then 'of 30 entries only the newest 20 are read' else '' end,"
        " succeeded_at = $1,"
        " due_at = case c.title when 'Slow' then $1::timestamptz + interval '1 hour' when 'Gone' then null"
        " else l.due_at end from channel c where c.id = l.channel_id",
        shelf.now,
    )
    (feeds,) = [one for one in shelf.document("doctor")["checks"] if one["name"] == "feeds"]
    assert feeds["status"] == "warn"
    assert feeds["message"] == (
        "Gone for good (410): Gone. Their sites asked us to wait: Slow. Read only in part: Long."
    )
    for remedy in ("headgate feed remove", "within a day", "headgate explain"):
        assert remedy in feeds["remedy"]
    assert "asked to wait" in shelf.said("feed", "list")
    for command in (["feed", "list"], ["explain", "Slow"], ["hosts"]):
        said = " ".join(shelf.said(*command).split())
        assert "asked us to wait" in said, command
        assert "a day at most" in said, command
    assert "only the newest 20 are read" in " ".join(shelf.said("explain", "Long").split())


def test_a_demo_in_quick_time_asks_nobody_real(shelf: Ledger, site: Site) -> None:
    shelf.rows("update product_clock set scale = 60")
    assert "This is a demo" in shelf.refused("feed", "add", site.feed("/all.xml", "Scans"))
