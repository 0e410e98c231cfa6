"""`headgate follow`, `notifications` and `push`: what users hear of, and how, as a person says it."""

from __future__ import annotations

import pytest
from ledger import LOGIN, Ledger
from loopback_site import Site


@pytest.fixture
def told(ledger: Ledger, site: Site) -> Ledger:
    """Ada, who may push to this machine, follows a feed that had news since."""
    ledger.add_user("Ada", "admin")
    feed = site.feed("/feed.xml", "The Blog", "Old post")
    ledger.said("feed", "add", feed)
    ledger.carry_out("poll", "ingest")
    ledger.said("follow", "channel", "the blog")
    site.feed("/feed.xml", "The Blog", "New post", "Old post")
    ledger.said("series", "check", "the blog")
    ledger.carry_out("poll", "ingest")
    ledger.carry_out("notify")
    return ledger


def test_channels_and_searches_are_followed_and_listed(ledger: Ledger) -> None:
    ledger.add_user("Ada")
    ledger.said("account", "add", "simulated", "atlas", "--established", *LOGIN)
    ledger.said("channel", "add", "atlas", "attic")
    assert "Ada follows nothing yet" in ledger.said("follow", "list")
    assert "Ada is notified of The Attic (quiet), in the list and by push" in ledger.said(
        "follow", "channel", "attic"
    )
    assert "everything called 'red dragon', by push" in ledger.said(
        "follow", "search", "Red", "Dragon", "--no-in-app"
    )
    ledger.said("series", "add", "salt-road")
    ledger.said("follow", "series", "salt road")
    assert [one["title"] for one in ledger.document("follow", "list")] == [
        "red dragon",
        "Salt Road",
        "The Attic (quiet)",
    ]
    assert "Did you mean 'red dragon'?" in ledger.refused("follow", "remove", "red dragons")
    ledger.said("follow", "remove", "RED dragon")
    ledger.said("follow", "remove", ledger.document("follow", "list")[0]["id"][-12:])
    assert [one["title"] for one in ledger.document("follow", "list")] == ["The Attic (quiet)"]


def test_without_users_it_is_said_how_to_get_one(ledger: Ledger) -> None:
    assert "`headgate user add NAME`" in ledger.refused("follow", "search", "dragon")
    assert "`headgate user add NAME`" in ledger.refused("notifications", "list")


def test_what_was_told_is_listed_and_marked_read(told: Ledger) -> None:
    listed = told.document("notifications", "list")
    assert listed["unread"] == "1"
    (one,) = listed["notifications"]
    assert "New post" in f"{one['title']} {one['body']}"
    assert "●" in told.said("notifications", "list")
    assert "no notification 'feedfeedfeed'" in told.refused("notifications", "read", "feedfeedfeed")
    assert "Which notifications?" in told.refused("notifications", "read")
    assert told.said("notifications", "read", one["id"][-12:]) == "1 notification is read; 0 unread.\n"
    assert told.said("notifications", "list", "--unread") == "Ada has read everything.\n"
    assert told.document("notifications", "read", "--all") == {"marked": 0, "unread": "0"}


def test_quiet_hours_are_set_shown_and_ended(ledger: Ledger) -> None:
    ledger.add_user("Ada")
    assert ledger.said("notifications", "settings") == "Ada: no quiet hours (time zone UTC).\n"
    ledger.said("notifications", "settings", "--zone", "Europe/Berlin", "--quiet", "22:00-07:30")
    assert ledger.said("notifications", "settings") == "Ada: quiet from 22:00 to 07:30 (Europe/Berlin).\n"
    assert ledger.document("notifications", "settings", "--no-quiet") == {
        "time_zone": "Europe/Berlin",
        "quiet_from_min": None,
        "quiet_to_min": None,
    }
    for wrong in (["--quiet", "22"], ["--quiet", "25:00-07:00"], ["--zone", "Mars/Base"]):
        assert ledger.refused("notifications", "settings", *wrong)


def test_an_address_is_added_tested_switched_and_removed(ledger: Ledger, site: Site) -> None:
    ledger.add_user("Ada", "admin")
    assert "Ada has no address yet" in ledger.said("push", "list")
    said = ledger.said("push", "add", site.push_url, "--name", "Phone")
    assert "Notifications for Ada go out to Phone" in said
    assert "secret-word" not in said + ledger.said("push", "list") + ledger.said("push", "list", "--json")
    assert ledger.said("push", "test", "phone") == "Phone has taken the test message.\n"
    assert len(site.pushed) == 1
    site.status = 500
    assert "The test message to Phone did not arrive" in ledger.refused("push", "test", "phone")
    assert "the last failed" in ledger.said("push", "list")
    assert ledger.said("push", "disable", "phone") == "Phone is off.\n"
    assert [one["state"] for one in ledger.document("push", "list")] == ["off"]
    ledger.said("push", "enable", "phone")
    assert "Nothing went out to Phone yet." in ledger.said("push", "history", "phone")
    assert "Did you mean 'Phone'?" in ledger.refused("push", "test", "phon")
    assert "--yes" in ledger.refused("push", "remove", "phone")
    ledger.said("push", "remove", "phone", "--yes")
    assert ledger.document("push", "list") == []


def test_a_message_in_doubt_is_sent_again_only_if_somebody_says_so(told: Ledger, site: Site) -> None:
    told.said("push", "add", site.push_url, "--name", "Phone")
    assert "No push to Phone failed" in told.refused("push", "repeat", "phone")
    told.rows(
        "insert into push (id, address_id, state, title, body, notifications, made_at, ended_at)"
        " select gen_random_uuid(), id, 'uncertain', 'Red Moon', '', 1, now(), now() from push_address"
    )
    told.rows(
        "insert into push_notification select p.address_id, n.id, p.id from push p, notification n limit 1"
    )
    assert "may have arrived at Phone" in told.refused("push", "repeat", "phone")
    assert told.said("push", "repeat", "phone", "--yes") == "“Red Moon” goes out to Phone again.\n"
    assert told.values("select state from push") == ["planned"]


def test_an_address_that_nobody_knows_is_refused(ledger: Ledger) -> None:
    ledger.add_user("Ada")
    assert "not a push address" in ledger.refused("push", "add", "x", "--name", "Phone")
