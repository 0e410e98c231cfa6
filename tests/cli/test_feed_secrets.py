"""Logins and tokens in the addresses of feeds: sealed, used for reading, and shown nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledger import Ledger
from loopback_site import Site

LOGIN = "ada:geheim-4711"
TOKEN = "wort-0815"
PATH = f"/feed.xml?token={TOKEN}&format=rss"


def private_feed(site: Site, *entries: str) -> str:
    """Serve a feed that is found by its token alone, and return its address with a login in it."""
    site.feed("/feed.xml", "Private", *entries)
    site.pages[PATH] = site.pages.pop("/feed.xml")
    return site.url(PATH).replace("//", f"//{LOGIN}@")


def everything_stored(ledger: Ledger) -> str:
    """Return all that a dump of the database holds, as text."""
    tables = ledger.values("select quote_ident(tablename) from pg_tables where schemaname = 'public'")
    return "\n".join(str(row) for table in tables for row in ledger.values(f"select t::text from {table} t"))


@pytest.mark.long
def test_a_private_feed_is_read_and_its_secrets_are_stored_sealed(ledger: Ledger, site: Site) -> None:
    ledger.said("feed", "add", private_feed(site, "One"))
    ledger.carry_out("poll", "ingest")
    assert ledger.values("select title from item") == ["One"]
    stored = everything_stored(ledger)
    assert "geheim-4711" not in stored
    assert TOKEN not in stored
    (key,) = ledger.values("select key from channel where platform = 'feeds'")
    assert key.startswith(f"{site.url('/feed.xml').replace('//', '//•••@')}?token=•••&format=rss#")


def test_a_failure_of_a_private_feed_tells_no_secret(
    ledger: Ledger, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.said("feed", "add", private_feed(site, "One"))
    site.status = 403
    ledger.carry_out("poll")
    said = "".join(
        ledger.said(*command) for command in (["feed", "list", "--json"], ["explain", "Private"])
    ) + "".join(capsys.readouterr())
    for text in (said, everything_stored(ledger)):
        assert "/feed.xml refuses to let us read (403)" in text
        assert "geheim-4711" not in text
        assert TOKEN not in text


def test_two_feeds_that_differ_by_their_secret_alone_stay_two(ledger: Ledger, site: Site) -> None:
    first = private_feed(site, "One")
    other = first.replace("geheim-4711", "anders")
    assert ledger.document("feed", "add", first)["is_new"]
    assert ledger.document("feed", "add", other, "--title", "Other")["is_new"]
    assert not ledger.document("feed", "add", first)["is_new"]
    assert [one["title"] for one in ledger.document("feed", "list")] == ["Other", "Private"]
    assert "2 feeds are called" in ledger.refused("feed", "remove", first, "--yes")


def test_an_export_has_secrets_only_when_asked_for(ledger: Ledger, site: Site, tmp_path: Path) -> None:
    ledger.said("feed", "add", private_feed(site, "One"))
    file = tmp_path / "feeds.opml"
    ledger.said("feed", "export", str(file))
    assert "geheim-4711" not in file.read_text("utf-8")
    assert TOKEN not in file.read_text("utf-8")
    refused = ledger.document("feed", "import", str(file))["refused"]
    assert [one["reason"] for one in refused] == [
        "this address leaves out its login or token; it is needed in full"
    ]
    ledger.said("feed", "export", str(file), "--with-secrets", "--yes")
    assert f"{LOGIN}@" in file.read_text("utf-8")
    assert [one["title"] for one in ledger.document("feed", "import", str(file))["known"]] == ["Private"]


def test_a_removed_feed_takes_its_secrets_along(ledger: Ledger, site: Site) -> None:
    address = private_feed(site, "One")
    ledger.said("feed", "add", address)
    sealed = "select count(*) from secret where owner like 'listing:%'"
    assert ledger.values(sealed) == [1]
    ledger.said("feed", "remove", address, "--yes")
    assert ledger.values(sealed) == [0]


def test_a_feed_whose_secrets_are_lost_says_what_to_do(ledger: Ledger, site: Site) -> None:
    address = private_feed(site, "One")
    ledger.said("feed", "add", address)
    ledger.rows("delete from secret where owner like 'listing:%'")
    ledger.carry_out("poll")
    assert "missing from the stored secrets" in " ".join(ledger.said("explain", "Private").split())
    assert not ledger.document("feed", "add", address)["is_new"]
    ledger.said("series", "check", "Private")
    ledger.carry_out("poll", "ingest")
    assert ledger.values("select title from item") == ["One"]
