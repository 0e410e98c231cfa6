"""Feeds of many shapes parse, or fail with a clear reason, and none takes more than its bounds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from feed_documents import JANUARY, NO_FEEDS, SHAPES, NoFeed, Shape, rss

from headgate.connectors.feeds.entries import MAX_ENTRIES
from headgate.connectors.feeds.parsing import ParsedFeed, parse_feed
from headgate.domain.errors import Malformed

NOW = datetime(2024, 7, 1, tzinfo=UTC)


def parse(document: bytes, content_type: str = "application/xml") -> ParsedFeed:
    return parse_feed(document, content_type=content_type, base="https://feeds.example/all.xml", now=NOW)


def check_bounds(feed: ParsedFeed) -> None:
    """Check what holds of every feed, however hostile."""
    assert len(feed.entries) <= MAX_ENTRIES
    assert len(feed.bad) <= 100
    assert len(feed.title) <= 300
    assert len({entry.key for entry in feed.entries}) == len(feed.entries)
    for entry in feed.entries:
        assert 0 < len(entry.key) <= 500
        assert 0 < len(entry.title) <= 500
        assert len(entry.url) <= 8000
        assert entry.url == "" or entry.url.startswith(("http://", "https://"))
        assert all(ord(letter) >= 32 for letter in entry.key + entry.title + entry.url)
        assert entry.published_at is None or entry.published_at.tzinfo is UTC
        assert (entry.number, entry.volume, entry.group) == ("", "", "")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_feed_is_read_as_it_was_meant(shape: Shape) -> None:
    feed = parse(shape.document, shape.content_type)
    check_bounds(feed)
    entries = feed.entries
    assert [entry.title for entry in entries] == shape.titles
    assert len(feed.bad) == shape.bad
    assert shape.keys is None or [entry.key for entry in entries] == shape.keys
    assert shape.urls is None or [entry.url for entry in entries] == shape.urls
    dates = [entry.published_at.isoformat()[:16] if entry.published_at else "-" for entry in entries]
    assert shape.dates is None or dates == shape.dates
    assert shape.feed_title is None or feed.title == shape.feed_title
    assert shape.language is None or {entry.language for entry in entries} == {shape.language}
    assert feed.rest_s == shape.rest_s
    if shape.warning:
        assert any(shape.warning in warning for warning in feed.warnings), feed.warnings
    else:
        assert feed.warnings == ()


@pytest.mark.parametrize("document", NO_FEEDS, ids=lambda document: document.name)
def test_what_is_no_feed_is_refused_with_what_it_is(document: NoFeed) -> None:
    with pytest.raises(Malformed, match=document.reason):
        parse(document.document, document.content_type)


HEAD = b'<?xml version="1.0"?><rss version="2.0"><channel><item><title>First</title><guid>1</guid></item>'

HOSTILE = {
    "deep nesting": HEAD + b"<a>" * 300_000,
    "deep nesting, closed": HEAD + b"<a>" * 200_000 + b"</a>" * 200_000 + b"</channel></rss>",
    "deep nesting in a title": HEAD + b"<item><title>" + b"<b>" * 200_000,
    "entries within entries": HEAD + b"<item>" * 100_000,
    "one element with a million attributes": HEAD
    + b"<a "
    + b"".join(b'a%d="" ' % n for n in range(200_000))
    + b"/>",
    "a namespace for each element": HEAD + b"".join(b'<a xmlns:n%d="u"/>' % n for n in range(50_000)),
    "nothing but brackets": HEAD + b"<" * 1_000_000,
    "comments that never end": HEAD + b"<!--" * 250_000,
    "sections that never end": HEAD + b"<![CDATA[" * 100_000,
    "instructions that never end": HEAD + b"<?" * 500_000,
    "references that never end": HEAD + b"<item><title>" + b"&#" * 500_000,
    "quotes that never end": HEAD + b"<a b=" + b'"<a b=' * 50_000,
    "an author of a million letters": HEAD + b"<item><author>" + b"a" * 1_000_000 + b"</author></item>",
    "a date of a million digits": HEAD + b"<item><pubDate>" + b"1" * 1_000_000 + b"</pubDate></item>",
    "a number of a million digits": HEAD + b"<item><title>&#" + b"9" * 1_000_000 + b";</title></item>",
    "bytes of no encoding": HEAD + b"\xff\xfe\xc0" * 300_000,
}


@pytest.mark.long
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_read_as_far_as_its_bounds_go(name: str) -> None:
    feed = parse(HOSTILE[name])
    check_bounds(feed)
    assert feed.entries[0].title == "First"
    assert feed.warnings


@pytest.mark.long
def test_of_a_hundred_thousand_entries_the_newest_are_kept_with_a_warning() -> None:
    item = "<title>Number {n}</title><guid>{n}</guid>" + JANUARY
    feed = parse(rss(*(item.format(n=n) for n in range(100_000))))
    check_bounds(feed)
    assert len(feed.entries) == MAX_ENTRIES
    assert feed.entries[0].title == "Number 0"
    assert any("newest 2,000" in warning for warning in feed.warnings)


def test_a_feed_beyond_the_limit_says_how_many_entries_it_has_and_which_setting_raises_that() -> None:
    document = rss(*(f"<title>{n}</title><guid>{n}</guid>" for n in range(30)))
    few, all_of_them = (
        parse_feed(document, content_type="", base="https://feeds.example/", now=NOW, max_entries=most)
        for most in (20, 30)
    )
    assert (len(few.entries), len(all_of_them.entries)) == (20, 30)
    assert few.warnings == (
        "of 30 entries only the newest 20 are read; the setting feeds.max_entries raises that",
    )
    assert all_of_them.warnings == ()


def test_an_entry_keeps_its_key_whichever_others_share_its_id() -> None:
    items = [f"<title>T{n}</title><link>https://x.example/{n}</link><guid>same</guid>" for n in range(4)]
    keys = [{entry.title: entry.key for entry in parse(rss(*some)).entries} for some in (items, items[1:3])]
    assert len(set(keys[0].values())) == 4
    assert keys[1].items() <= keys[0].items()


def test_titles_keys_and_links_of_any_length_are_bounded() -> None:
    feed = parse(
        rss(
            f"<title>{'t' * 9000}</title><guid>{'k' * 9000}</guid><link>https://x.example/{'l' * 9000}</link>"
        )
    )
    check_bounds(feed)
    assert feed.entries[0].title.endswith("…")
    assert feed.entries[0].url == ""


def test_long_keys_that_differ_at_their_end_stay_apart() -> None:
    feed = parse(rss(*(f"<title>T</title><guid>{'k' * 900}{n}</guid>" for n in range(3))))
    assert len(feed.entries) == 3


def test_an_entry_without_a_date_stays_behind_the_one_that_it_followed() -> None:
    feed = parse(
        rss(
            "<title>Old</title><pubDate>2024-01-01</pubDate>",
            "<title>After old</title>",
            "<title>New</title><pubDate>2024-02-01</pubDate>",
            "<title>After new</title>",
        )
    )
    assert [entry.title for entry in feed.entries] == ["New", "After new", "Old", "After old"]
