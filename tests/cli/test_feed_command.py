"""`headgate feed`: following feeds, and taking lists of them in and out, as a person does it."""

from __future__ import annotations

from pathlib import Path

from ledger import Ledger
from loopback_site import Site


def test_without_feeds_it_is_said_how_to_get_some(ledger: Ledger) -> None:
    assert "`headgate feed add ADDRESS`" in ledger.said("feed", "list")


def test_a_feed_is_followed_and_its_entries_become_posts(ledger: Ledger, site: Site) -> None:
    feed = site.feed("/feed.xml", "The Blog", "First post", "Second post")
    said = ledger.said("feed", "add", feed)
    assert "The Blog is followed; its entries become posts in the library." in said
    assert "`headgate feed list`" in said
    assert "not read yet" in ledger.said("feed", "list")
    ledger.carry_out("poll", "ingest")
    (shown,) = ledger.document("feed", "list")
    assert (shown["title"], shown["state"], shown["series"]) == ("The Blog", "OK", [])
    assert sorted(ledger.values("select title from item")) == ["First post", "Second post"]
    assert "The Blog was followed already" in ledger.said("feed", "add", feed)


def test_a_page_that_names_several_feeds_is_asked_back(ledger: Ledger, site: Site) -> None:
    site.feed("/a.xml", "Articles", "One")
    page = site.page("/", Articles="/a.xml", Comments="/c.xml")
    sentence = ledger.refused("feed", "add", page)
    assert "--pick N: 1 Articles" in sentence
    assert ledger.document("feed", "add", page, "--pick", "1", "--title", "Mine")["title"] == "Mine"


def test_a_feed_that_cannot_be_read_is_refused_with_the_reason(ledger: Ledger, site: Site) -> None:
    assert "is not there at the moment (404)" in ledger.refused("feed", "add", site.url("/none.xml"))
    assert "has no fixed text" in ledger.refused("feed", "add", site.url(), "--pattern", "{number}")
    assert ledger.document("feed", "list") == []


def test_a_password_in_an_address_is_never_shown(ledger: Ledger, site: Site) -> None:
    site.feed("/feed.xml", "The Blog", "One")
    address = site.url("/feed.xml").replace("//", "//ada:secret-word@")
    said = ledger.said("feed", "add", address) + ledger.run("feed", "add", address, "--json").output
    for command in (["feed", "list"], ["feed", "list", "--json"], ["explain", "The Blog"]):
        said += ledger.said(*command)
    said += ledger.run("feed", "add", address.replace("feed.xml", "none.xml")).output
    assert "secret-word" not in said
    assert "secret-word" in ledger.said("feed", "export", "--with-secrets")


def test_a_feed_can_bring_a_series_of_its_own(ledger: Ledger, site: Site) -> None:
    feed = site.feed("/feed.xml", "Scans", "Chapter 1", "Chapter 2")
    assert "Red Moon comes from feeds: Scans." in ledger.said("feed", "add", feed, "--series", "Red Moon")
    ledger.carry_out("poll")
    assert ledger.document("series", "show", "red moon")["latest_chapter"] == "2"
    assert [one["series"] for one in ledger.document("feed", "list")] == [["Red Moon"]]


def test_a_feed_that_fails_says_why_in_the_list(ledger: Ledger, site: Site) -> None:
    ledger.said("feed", "add", site.feed("/feed.xml", "The Blog", "One"))
    del site.pages["/feed.xml"]
    ledger.carry_out("poll")
    ledger.rows("update watch set failures = 2, error_class = 'Absent', error_message = 'it is not there'")
    text = ledger.said("feed", "list")
    assert "failing" in text
    assert (
        "The Blog: It failed 2 times in a row and is retried as usual. Last error: it is not there." in text
    )
    assert "`headgate explain FEED`" in text


def test_a_feed_is_switched_off_and_on_like_any_channel(ledger: Ledger, site: Site) -> None:
    ledger.said("feed", "add", site.feed("/feed.xml", "The Blog", "One"))
    assert ledger.said("channel", "disable", "The Blog") == "The Blog is off.\n"
    ledger.carry_out("poll")
    assert ledger.values("select title from item") == []
    (shown,) = ledger.document("feed", "list")
    assert shown["state"] == "switched off"
    assert "1 channel is checked now" in ledger.said("channel", "enable", "The Blog")
    ledger.carry_out("poll")
    assert ledger.values("select title from item") == ["One"]


def test_a_removed_feed_takes_its_posts_along(ledger: Ledger, site: Site) -> None:
    ledger.said("feed", "add", site.feed("/feed.xml", "The Blog", "One"))
    ledger.carry_out("poll", "ingest")
    assert "There is no feed 'The Blok'. Did you mean 'The Blog'?" in ledger.refused(
        "feed", "remove", "The Blok"
    )
    assert "Remove The Blog with 1 post?" in ledger.refused("feed", "remove", "the blog")
    ledger.said("feed", "remove", "the blog", "--yes")
    assert ledger.values("select count(*) from item") == [0]


def test_a_list_goes_out_and_comes_in_again(ledger: Ledger, site: Site, tmp_path: Path) -> None:
    feed = site.feed("/feed.xml", "Scans", "Red Moon 1")
    ledger.said("feed", "add", feed, "--series", "Red Moon", "--pattern", "Red Moon {number}")
    file = tmp_path / "feeds.opml"
    ledger.said("feed", "export", str(file))
    assert "--yes" in ledger.refused("feed", "export", str(file))
    again = ledger.document("feed", "import", str(file))
    assert ([one["title"] for one in again["known"]], again["added"]) == (["Scans"], [])
    ledger.said("feed", "remove", "Scans", "--yes")
    assert "1 feed is new." in ledger.said("feed", "import", str(file))
    assert ledger.document("series", "show", "red moon")["sources"][0]["pattern"] == "Red Moon {number}"


def test_what_is_no_list_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<html></html>")
    assert "is not OPML" in ledger.refused("feed", "import", str(file))
    assert "cannot be read" in ledger.refused("feed", "import", str(tmp_path / "none"))
