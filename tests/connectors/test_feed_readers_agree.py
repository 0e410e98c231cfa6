"""The quick reader of feeds says what the patient one says, or leaves the document to it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from feed_documents import SHAPES, Shape, atom, rss
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connectors.feeds.decoding import decode
from headgate.connectors.feeds.entries import judge_entries, plain_text
from headgate.connectors.feeds.quick_xml import parse_quickly
from headgate.connectors.feeds.raw import RawFeed
from headgate.connectors.feeds.xml_feeds import parse_xml

NOW = datetime(2024, 7, 1, tzinfo=UTC)
BASE = "https://feeds.example/all.xml"


def used_of(raw: RawFeed) -> tuple[object, ...]:
    """Return all that is made of a document."""
    judged = judge_entries(raw.entries, language=raw.language, now=NOW)
    title = plain_text(raw.title, is_markup=raw.title_is_markup)
    return title, raw.rest_s, judged.entries, judged.bad, [*raw.warnings, *judged.warnings], raw.cut_off


def check_agreement(document: bytes, content_type: str = "application/xml") -> bool:
    """Compare both readers; returns whether the quick one was sure."""
    text = decode(document, content_type).text.lstrip("\ufeff \t\r\n")
    quick = parse_quickly(text, base=BASE)
    if quick is not None:
        assert used_of(quick) == used_of(parse_xml(text, base=BASE))
    return quick is not None


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_both_readers_agree_on_every_shape(shape: Shape) -> None:
    if not shape.document.lstrip().startswith(b"{"):
        check_agreement(shape.document, shape.content_type)


PLAIN_RSS = rss(
    "<title>Tom &amp; Jerry &lt;b&gt;live&lt;/b&gt;</title><link>/x?a=1&amp;b=2</link><guid>urn:1</guid>"
    "<pubDate>Mon, 01 Jan 2024 10:00:00 +0100</pubDate><description>&lt;p&gt;x&lt;/p&gt;</description>"
    "<dc:creator>A</dc:creator><content:encoded><![CDATA[<p>x</p>]]></content:encoded><category>c</category>",
    attributes='xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/"',
    head="<language>en-us</language><ttl>60</ttl><image><url>x</url><title>y</title><link>z</link></image>",
)
PLAIN_ATOM = atom(
    '<title type="html">One &amp;amp; two</title><id>urn:1</id><link href="https://example.org/1"/>'
    "<published>2024-01-01T10:00:00+01:00</published><updated>2024-02-01T10:00:00.5Z</updated>"
    '<author><name>A</name></author><summary type="html">&lt;p&gt;x&lt;/p&gt;</summary>',
    attributes='xml:lang="de"',
)


@pytest.mark.parametrize("document", [PLAIN_RSS, PLAIN_ATOM], ids=["RSS", "Atom"])
def test_the_quick_reader_is_sure_of_ordinary_feeds(document: bytes) -> None:
    assert check_agreement(document)


TEXTS = st.sampled_from(
    [
        *("", " ", "Plain", "  spaced \n out ", "Tom &amp; Jerry", "&lt;b&gt;bold&lt;/b&gt;", "&amp;eacute;"),
        *(
            "a &lt; b",
            "<![CDATA[<i>x</i> &amp; y]]>",
            "é\u0085\u2019",
            "&#8217;",
            "x<!-- y -->z",
            "<b>in</b>",
        ),
        *("AT&amp;T; R&amp;D", "&amp;lt;tag&amp;gt;", "1 &amp;nbsp; 2", "\u200b"),
    ]
)
LINKS = st.sampled_from(
    [
        *(
            "",
            "https://example.org/1",
            "http://example.org/a?b=1&amp;c=2",
            "/path",
            "x y",
            "https://ex.org/?",
        ),
        *(
            "//other.example/x",
            "mailto:a@b.example",
            "https://example.org/#top",
            "http://[",
            "https:///three",
        ),
        *("https://example.org/a/../b", " https://example.org/padded ", "HTTPS://EXAMPLE.ORG/", "?q=1"),
    ]
)
DATES = st.sampled_from(
    [
        *(
            "",
            "Mon, 01 Jan 2024 10:00:00 +0100",
            "Sat, 01 Jun 2024 10:00:00 GMT",
            "1 Jun 2024 10:00:00 -0730",
        ),
        *(
            "2024-01-01T10:00:00Z",
            "2024-01-01T10:00:00.25+05:30",
            "2024-01-01",
            "2024-02-31T10:00:00Z",
            "soon",
        ),
        *("Sat, 01 Jun 2024 10:00:60 GMT", "Sat, 1 Jun 24 10:00 EST", "2024-06-01T24:00:00Z", "20240601"),
        *("Sat, 01 Foo 2024 10:00:00 GMT", "0001-01-01T00:00:00+14:00", "01 Jan 2024 10:00:00 UTC"),
    ]
)
EXTRAS = st.sampled_from(
    [
        *("<category>c</category>", "<author>a@b.example (A)</author>", "<dc:date>2020-01-01</dc:date>"),
        *("<media:title>Other</media:title>", "<dc:title>Dublin</dc:title>", "<updated>2021-01-01</updated>"),
        *(
            '<enclosure url="https://x.example/a.mp3" type="audio/mpeg"/>',
            "<x:unknown>u</x:unknown>",
            "<odd>o</odd>",
        ),
        *('<source url="https://s.example/">S</source>', "<summary>Sum</summary>", "<id>urn:other</id>"),
        *(
            '<link rel="alternate" href="https://l.example/"/>',
            '<link rel="self" href="/self"/>',
            "<link>t</link>",
        ),
        *('<title xml:lang="fr">Deux</title>', "<language>ja</language>", '<media:content url="u"/>', ""),
        *(
            '<atom:link rel="alternate" href="https://a.example/"/>',
            "<guid>again</guid>",
            "<created>2022</created>",
        ),
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    def some(name: str, texts: st.SearchStrategy[str], attributes: st.SearchStrategy[str]) -> str:
        if draw(st.booleans()):
            return ""
        return f"<{name}{draw(attributes)}>{draw(texts)}</{name}>"

    plain = st.just("")
    kinds = st.sampled_from(["", ' type="html"', ' type="text"', ' type="xhtml"', ' mode="base64"'])
    permanent = st.sampled_from(["", ' isPermaLink="false"', ' isPermaLink="true"', ' ispermalink="false"'])

    def rss_item() -> str:
        parts = [some("title", TEXTS, plain), some("link", LINKS, plain), some("guid", LINKS, permanent)]
        return "".join(draw(st.permutations([*parts, some("pubDate", DATES, plain), draw(EXTRAS)])))

    def atom_entry() -> str:
        relation = draw(st.sampled_from(["", ' rel="alternate"', ' rel="enclosure"', ' type="text/plain"']))
        link = f'<link href="{draw(LINKS)}"{relation}/>'
        parts = [some("title", TEXTS, kinds), some("id", LINKS, plain), some("published", DATES, plain)]
        return "".join(draw(st.permutations([*parts, some("updated", DATES, plain), link, draw(EXTRAS)])))

    count = draw(st.integers(0, 3))
    spaces = (
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/" '
        'xmlns:x="urn:x" xmlns:atom="http://www.w3.org/2005/Atom"'
    )
    language = draw(st.sampled_from(["", ' xml:lang="en_GB"', ' xml:base="https://base.example/"']))
    head = some("language", TEXTS, plain) + some("ttl", st.sampled_from(["60", "x", ""]), plain)
    if draw(st.booleans()):
        return rss(*(rss_item() for _ in range(count)), head=head, attributes=spaces + language)
    return atom(*(atom_entry() for _ in range(count)), head=draw(EXTRAS), attributes=spaces + language)


@pytest.mark.long
@settings(max_examples=600, deadline=None)
@given(documents())
def test_both_readers_agree_on_documents_of_any_mixture(document: bytes) -> None:
    check_agreement(document)
