"""OPML: what readers write, what nobody should, and that our own comes back as it was."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.errors import UserError
from headgate.domain.listings.opml import MAX_BYTES, MAX_FEEDS, OpmlFeed, parse_opml, write_opml

pytestmark = pytest.mark.once

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20)


def opml(body: str, *, head: str = "") -> bytes:
    return f'<?xml version="1.0"?>{head}<opml version="1.0"><body>{body}</body></opml>'.encode()


def test_feeds_are_read_with_their_titles() -> None:
    body = (
        '<outline text="A" title="Ann&apos;s" xmlUrl=" https://a.example/ "/><outline text="B" xmlUrl="b"/>'
    )
    assert parse_opml(opml(body)) == [OpmlFeed("https://a.example/", "Ann's"), OpmlFeed("b", "B")]


def test_nested_folders_become_one_name() -> None:
    body = """
    <outline text="Comics">
      <outline text="Daily  ones"><outline xmlUrl="https://a.example/"/></outline>
      <outline xmlUrl="https://b.example/"/>
    </outline>
    <outline xmlUrl="https://c.example/"/>"""
    assert [feed.folder for feed in parse_opml(opml(body))] == ["Comics / Daily ones", "Comics", ""]


@pytest.mark.parametrize("name", ["xmlUrl", "xmlurl", "XMLURL"])
def test_readers_that_write_names_their_own_way_are_understood(name: str) -> None:
    assert [feed.url for feed in parse_opml(opml(f'<outline {name}="https://a.example/"/>'))] == [
        "https://a.example/"
    ]


def test_a_feed_that_is_listed_twice_is_one() -> None:
    assert len(parse_opml(opml('<outline xmlUrl="https://a.example/"/>' * 2))) == 1


def test_other_encodings_are_read() -> None:
    document = '<?xml version="1.0" encoding="windows-1252"?><opml><outline text="Añil" xmlUrl="a"/></opml>'
    assert parse_opml(document.encode("cp1252"))[0].title == "Añil"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (b"", "not well-formed XML"),
        (b"not xml", "not well-formed XML"),
        (b"<opml><body>", "not well-formed XML"),
        (b"<rss/>", "begins with <rss>"),
        (opml('<outline text="&a;"/>'), "not well-formed XML"),
        (opml("", head='<!DOCTYPE opml [<!ENTITY a "b">]>'), "document type"),
        (opml("", head='<!DOCTYPE opml SYSTEM "file:///etc/passwd">'), "document type"),
        (b'<?xml version="1.0" encoding="no-such"?><opml/>', "encoding"),
        (b'<?xml version="1.0" encoding="zlib"?><opml/>', "encoding"),
        (opml("<outline>" * 200 + "</outline>" * 200), "nested too deeply"),
        (opml('<outline xmlUrl="a"/>' * (MAX_FEEDS + 1)), "more than 10,000 feeds"),
        (b" " * (MAX_BYTES + 1), "larger than 5 MiB"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_remedy(document: bytes, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        parse_opml(document)
    assert caught.value.remedy


def test_the_written_document_is_what_other_readers_expect() -> None:
    written = write_opml([OpmlFeed("https://me:pw@a.example/feed?x=1&y=2", "A & B")], title="Mine", now=NOW)
    assert '<opml version="2.0"' in written
    assert "<dateCreated>Sun, 01 Mar 2026 12:00:00 +0000</dateCreated>" in written
    assert '<outline type="rss" text="A &amp; B" title="A &amp; B"' in written
    assert 'xmlUrl="https://me:pw@a.example/feed?x=1&amp;y=2" htmlUrl="https://a.example/"' in written


@given(
    st.lists(
        st.builds(
            OpmlFeed, TEXT.filter(bool), title=TEXT.filter(bool), series=TEXT.filter(bool), pattern=TEXT
        ),
        max_size=5,
        unique=True,
    )
)
def test_what_is_written_is_read_back_the_same(feeds: list[OpmlFeed]) -> None:
    assert parse_opml(write_opml(feeds, title="Mine", now=NOW).encode()) == feeds


def test_signs_that_xml_cannot_hold_are_left_out() -> None:
    written = write_opml([OpmlFeed("https://a.example/", "A\x00\x1bB\ufffe")], title="\x07", now=NOW)
    assert parse_opml(written.encode())[0].title == "AB"


@given(st.binary(max_size=200))
def test_no_document_does_worse_than_be_refused(document: bytes) -> None:
    with pytest.raises(UserError):
        parse_opml(b"<opml>" + document)
