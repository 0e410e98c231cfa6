"""Feeds of many kinds, each with what must come out of it; the second part are those that are none."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """A document, and what must be read from it."""

    name: str
    document: bytes
    titles: list[str]
    """Of the entries, newest first."""
    keys: list[str] | None = None
    urls: list[str] | None = None
    dates: list[str] | None = None
    """As YYYY-MM-DDTHH:MM in UTC, or - for none."""
    feed_title: str | None = None
    language: str | None = None
    rest_s: float | None = None
    warning: str = ""
    bad: int = 0
    content_type: str = "application/xml"


@dataclass(frozen=True)
class NoFeed:
    """A document that is no feed, and a part of the reason that is given."""

    name: str
    document: bytes
    reason: str
    content_type: str = field(default="application/xml")


def rss(*items: str, head: str = "", version: str = "2.0", attributes: str = "") -> bytes:
    entries = "".join(f"<item>{item}</item>" for item in items)
    return (
        f'<?xml version="1.0"?><rss version="{version}" {attributes}><channel><title>A site</title>'
        f"<link>https://example.org/</link>{head}{entries}</channel></rss>"
    ).encode()


def atom(*entries: str, head: str = "", attributes: str = "") -> bytes:
    inside = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return (
        f'<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom" {attributes}>'
        f"<title>A site</title><id>urn:site</id>{head}{inside}</feed>"
    ).encode()


JANUARY = "<pubDate>Mon, 01 Jan 2024 10:00:00 +0100</pubDate>"
JUNE = "<pubDate>Sat, 01 Jun 2024 10:00:00 GMT</pubDate>"

SHAPES = [
    Shape(
        "RSS 2.0 with everything",
        rss(
            f"<title>Two</title><link>https://example.org/2</link><guid>urn:2</guid>{JUNE}",
            f"<title>One</title><link>https://example.org/1</link><guid>urn:1</guid>{JANUARY}",
            head="<language>en-US</language><ttl>90</ttl>",
        ),
        ["Two", "One"],
        keys=["urn:2", "urn:1"],
        urls=["https://example.org/2", "https://example.org/1"],
        dates=["2024-06-01T10:00", "2024-01-01T09:00"],
        feed_title="A site",
        language="en-us",
        rest_s=5400,
    ),
    Shape(
        "RSS 0.91, whose entries have only a title and a link",
        rss("<title>One</title><link>https://example.org/1</link>", version="0.91"),
        ["One"],
        keys=["https://example.org/1"],
        dates=["-"],
    ),
    Shape(
        "RSS 0.90 in the namespace of Netscape",
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        b'xmlns="http://my.netscape.com/rdf/simple/0.9/"><channel><title>Old</title></channel>'
        b"<item><title>One</title><link>https://example.org/1</link></item></rdf:RDF>",
        ["One"],
        feed_title="Old",
    ),
    Shape(
        "RSS 0.92 with a document type",
        b'<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" '
        b'"http://my.netscape.com/publish/formats/rss-0.91.dtd"><rss version="0.92"><channel>'
        b"<item><title>One</title><link>https://example.org/1</link></item></channel></rss>",
        ["One"],
    ),
    Shape(
        "RSS 1.0 (RDF) with a date of Dublin Core",
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
        b'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">'
        b'<channel rdf:about="https://example.org/"><title>R</title><sy:updatePeriod>hourly</sy:updatePeriod>'
        b"<sy:updateFrequency>2</sy:updateFrequency></channel>"
        b'<item rdf:about="urn:1"><title>One</title><link>https://example.org/1</link>'
        b"<dc:date>2024-06-01T10:00:00+02:00</dc:date></item></rdf:RDF>",
        ["One"],
        keys=["urn:1"],
        dates=["2024-06-01T08:00"],
        rest_s=1800,
    ),
    Shape(
        "Atom 1.0",
        atom(
            '<title>One</title><id>tag:1</id><link href="https://example.org/1"/>'
            "<updated>2024-06-02T10:00:00Z</updated><published>2024-06-01T10:00:00Z</published>",
            attributes='xml:lang="pt-BR"',
        ),
        ["One"],
        keys=["tag:1"],
        urls=["https://example.org/1"],
        dates=["2024-06-01T10:00"],
        language="pt-br",
    ),
    Shape(
        "Atom 0.3",
        b'<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>Old</title><entry><title>One</title>'
        b'<id>tag:1</id><link rel="alternate" type="text/html" href="https://example.org/1"/>'
        b"<issued>2024-06-01T10:00:00Z</issued><modified>2024-06-05T10:00:00Z</modified></entry></feed>",
        ["One"],
        dates=["2024-06-01T10:00"],
    ),
    Shape(
        "Atom with a title in HTML",
        atom('<title type="html">A &amp;lt;b&amp;gt; &lt;i&gt;slanted&lt;/i&gt; one</title><id>1</id>'),
        ["A <b> slanted one"],
    ),
    Shape(
        "Atom with a title in XHTML",
        atom(
            '<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">A <em>b</em> &amp; c</div></title>'
            "<id>1</id>"
        ),
        ["A b & c"],
    ),
    Shape(
        "Atom whose plain title looks like markup",
        atom('<title type="text">1 &lt; 2 and a &lt;tag&gt;</title><id>1</id>'),
        ["1 < 2 and a <tag>"],
    ),
    Shape(
        "Atom with relative links and xml:base",
        atom(
            '<title>One</title><id>1</id><link href="chapter/1"/>',
            attributes='xml:base="https://cdn.example/x/"',
        ),
        ["One"],
        urls=["https://cdn.example/x/chapter/1"],
    ),
    Shape(
        "relative links without a base, from the feed's own address",
        rss("<title>One</title><link>/chapter/1</link><guid isPermaLink='false'>1</guid>"),
        ["One"],
        keys=["1"],
        urls=["https://feeds.example/chapter/1"],
    ),
    Shape(
        "an id that is the link, and a link that is missing",
        rss("<title>One</title><guid>https://example.org/1</guid>"),
        ["One"],
        keys=["https://example.org/1"],
        urls=["https://example.org/1"],
    ),
    Shape(
        "an id that only looks like a link stays as it is",
        rss("<title>One</title><guid>chapter-1</guid><link>https://example.org/1</link>"),
        ["One"],
        keys=["chapter-1"],
        urls=["https://example.org/1"],
    ),
    Shape(
        "links that no browser should open",
        rss(
            "<title>One</title><link>javascript:alert(1)</link><guid isPermaLink='false'>1</guid>",
            "<title>Two</title><link>file:///etc/passwd</link><guid isPermaLink='false'>2</guid>",
        ),
        ["One", "Two"],
        urls=["", ""],
    ),
    Shape(
        "JSON Feed 1.1",
        b'{"version":"https://jsonfeed.org/version/1.1","title":"J","language":"de","items":['
        b'{"id":"1","url":"https://example.org/1","title":"One &amp; only",'
        b'"date_published":"2024-06-01T10:00:00+02:00"}]}',
        ["One &amp; only"],
        keys=["1"],
        urls=["https://example.org/1"],
        dates=["2024-06-01T08:00"],
        feed_title="J",
        language="de",
        content_type="application/feed+json",
    ),
    Shape(
        "JSON Feed 1.0 with numbers for ids, an entry without a title and one that is no entry",
        b'{"version":"https://jsonfeed.org/version/1","title":"J","items":['
        b'{"id":7,"content_html":"<p>Hello <b>you</b></p>"},"what?",{"id":8,"title":"T","url":"/8"}]}',
        ["Hello you", "T"],
        keys=["7", "8"],
        urls=["", "https://feeds.example/8"],
        bad=1,
        content_type="application/json",
    ),
    Shape(
        "entries without a title take the beginning of their text",
        rss("<guid>https://example.org/1</guid><description>&lt;p&gt;Short &amp;amp; sweet</description>"),
        ["Short & sweet"],
    ),
    Shape(
        "an entry with nothing in it is bad, alone",
        rss(f"{JUNE}", "<title>One</title><guid>1</guid>"),
        ["One"],
        bad=1,
    ),
    Shape(
        "an entry that comes twice: the newest stays",
        rss(
            f"<title>One</title><guid>1</guid>{JANUARY}",
            f"<title>One</title><guid>1</guid>{JUNE}",
            f"<title>Other</title><guid>2</guid>{JANUARY}",
        ),
        ["One", "Other"],
        dates=["2024-06-01T10:00", "2024-01-01T09:00"],
        warning="the id of another entry: 1",
    ),
    Shape(
        "different entries under one id are told apart by link and title",
        rss(
            f"<title>One</title><link>https://x.example/1</link><guid>same</guid>{JUNE}",
            f"<title>Two</title><link>https://x.example/1</link><guid>same</guid>{JANUARY}",
            f"<title>One</title><link>https://x.example/2</link><guid>same</guid>{JANUARY}",
        ),
        ["One", "Two", "One"],
        warning="the id of another entry: 2",
    ),
    Shape(
        "entries without id and link are known by title and date",
        rss(f"<title>One</title>{JANUARY}", f"<title>One</title>{JUNE}"),
        ["One", "One"],
        dates=["2024-06-01T10:00", "2024-01-01T09:00"],
    ),
    Shape(
        "oldest first is turned round",
        rss(f"<title>One</title>{JANUARY}", f"<title>Two</title>{JUNE}"),
        ["Two", "One"],
    ),
    Shape(
        "dates that cannot be: nonsense, before 1970, far in the future",
        rss(
            "<title>A</title><pubDate>next Tuesday</pubDate>",
            "<title>B</title><pubDate>Mon, 01 Jan 0001 00:00:00 GMT</pubDate>",
            "<title>C</title><pubDate>Wed, 01 Jan 2092 00:00:00 GMT</pubDate>",
        ),
        ["A", "B", "C"],
        dates=["-", "-", "-"],
        warning="a date in the future: 1",
    ),
    Shape(
        "dates of many kinds, without a zone in UTC",
        rss(
            "<title>A</title><pubDate>2024-06-05 10:00:00</pubDate>",
            "<title>B</title><pubDate>Tue, 4 Jun 24 10:00 EST</pubDate>",
            "<title>C</title><pubDate>2024-06-03</pubDate>",
            "<title>D</title><pubDate>2024-06-02T10:00Z</pubDate>",
        ),
        ["A", "B", "C", "D"],
        dates=["2024-06-05T10:00", "2024-06-04T15:00", "2024-06-03T00:00", "2024-06-02T10:00"],
    ),
    Shape(
        "text of Windows that calls itself UTF-8",
        rss("<title>Caf\u00e9</title><guid>1</guid>").decode().encode("windows-1252"),
        ["Caf\u00e9"],
        warning="encoding",
    ),
    Shape(
        "UTF-8 that its server calls Latin",
        rss("<title>Caf\u00e9</title><guid>1</guid>"),
        ["Caf\u00e9"],
        content_type="text/xml; charset=iso-8859-1",
    ),
    Shape(
        "Japanese in Shift JIS, as declared",
        '<?xml version="1.0" encoding="Shift_JIS"?><rss version="2.0"><channel><item><title>第1話</title>'
        "<guid>1</guid></item></channel></rss>".encode("shift_jis"),
        ["第1話"],
    ),
    Shape(
        "UTF-16 with a mark",
        rss("<title>Caf\u00e9</title><guid>1</guid>").decode().encode("utf-16"),
        ["Caf\u00e9"],
    ),
    Shape(
        "control characters inside",
        rss("<title>A\x00B\x0bC</title><guid>1</guid>"),
        ["ABC"],
        warning="control characters",
    ),
    Shape(
        "entities of HTML that XML does not know",
        rss("<title>Caf&eacute;&nbsp;&copy;</title><guid>1</guid>"),
        ["Caf\u00e9 \u00a9"],
        warning="broken",
    ),
    Shape(
        "a bare ampersand",
        rss("<title>Tom & Jerry</title><guid>1</guid>"),
        ["Tom & Jerry"],
        warning="broken",
    ),
    Shape(
        "numbers of characters that do not exist",
        rss("<title>A&#99999999999;B&#xD800;C&#1;</title><guid>1</guid>"),
        ["A\ufffdB\ufffdC"],
        warning="broken",
    ),
    Shape(
        "tags that are not closed in the right order",
        rss(
            "<title>One</title><description><b>x</description></b><guid>1</guid>",
            "<title>Two</title><guid>2</guid>",
        ),
        ["One", "Two"],
        warning="broken",
    ),
    Shape(
        "a document that breaks off: half an entry does not count",
        rss("<title>One</title><guid>1</guid>", "<title>Chapter 12</title><guid>2</guid>")[:-60],
        ["One"],
        warning="broken",
    ),
    Shape(
        "white space and a mark before the declaration",
        b"\xef\xbb\xbf\n\n  " + rss("<title>One</title><guid>1</guid>"),
        ["One"],
    ),
    Shape(
        "a feed that is served as a web page",
        rss("<title>One</title><guid>1</guid>"),
        ["One"],
        content_type="text/html",
    ),
    Shape("a feed without entries", rss(), [], feed_title="A site"),
    Shape(
        "titles with markup, in CDATA and over lines",
        rss("<title><![CDATA[<b>Big</b>\n  news &amp; more<br/>]]></title><guid>1</guid>"),
        ["Big news & more"],
    ),
    Shape(
        "an external entity is not fetched",
        b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        b'<rss version="2.0"><channel><item><title>A&x;</title><guid>1</guid></item></channel></rss>',
        ["A&x;"],
        warning="broken",
    ),
    Shape(
        "a billion laughs",
        b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ha">'
        + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
        + b']><rss version="2.0"><channel><item><title>x &j;</title><guid>1</guid></item></channel></rss>',
        ["x &j;"],
        warning="broken",
    ),
]

NO_FEEDS = [
    NoFeed("a web page", b"<!DOCTYPE html><html><head><title>x</title></head></html>", "a web page"),
    NoFeed("a page of XHTML", b'<?xml version="1.0"?>\n<!-- hi -->\n<html xmlns="x"></html>', "a web page"),
    NoFeed("nothing", b"", "empty"),
    NoFeed("white space", b" \r\n\t" * 100, "empty"),
    NoFeed("a picture", b"\x89PNG\r\n\x1a\n" + bytes(range(32)) * 50, "a file of another kind"),
    NoFeed("JSON of another kind", b'{"error": "not found"}', "JSON of another kind"),
    NoFeed("a list in JSON", b"[1, 2, 3]", "JSON of another kind"),
    NoFeed("broken JSON", b'{"version": "https://jsonfeed.org/version/1", "items": [', "broken"),
    NoFeed("deep JSON", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    NoFeed("JSON of a million parts", b'{"items":[' + b"[]," * 500_000 + b"1]}", "too many parts"),
    NoFeed("a list of feeds", b'<?xml version="1.0"?><opml version="2.0"><body/></opml>', "OPML"),
    NoFeed(
        "a sitemap", b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>', "map of a site"
    ),
    NoFeed("XML of another kind", b"<playlist><track/></playlist>", "<playlist>"),
    NoFeed("words", b"Too many requests, come back later.", "a text of another kind"),
    NoFeed(
        "declarations without end", b"<!DOCTYPE x [" + b"\n<!ENTITY " * 200_000 + b"<rss>", "another kind"
    ),
]
