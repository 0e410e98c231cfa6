"""RSS 2.0 and Atom 1.0 as most feeds write them, read strictly and quickly.

This reader knows few things and is sure of them: whatever it has not seen before, it leaves to `xml_feeds`,
which takes ten times as long and copes with anything. Both must say the same of a document; a test holds them
to that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, cast
from xml.etree.ElementTree import Element, ParseError, XMLParser

import feedparser.api
import feedparser.datetimes
import feedparser.mixin
import feedparser.urls

from headgate.connectors.feeds.answers import told_rest_s
from headgate.connectors.feeds.raw import MAX_READ, RawEntry, RawFeed

_MAX_CHARACTERS = 2 * 2**20
_MAX_ELEMENTS = 60_000
_MAX_NAMESPACES = 20
_TEXT_CHARACTERS = 20_000

_ATOM = "{http://www.w3.org/2005/Atom}"
# Document types and entities, and letters that feedparser takes for those of Windows.
_ODD = re.compile("<!(?!--|\\[CDATA\\[)|[\x80-\x9f]")
_LONG_TAG = re.compile(r"<[^<>]{5000,}")
_NAMESPACE = re.compile(r"xmlns(?::([^\s=]{1,100}))?\s*=\s*[\"']([^\"']{0,500})[\"']")
_PLAIN_LINK = re.compile(r"https?://[\w-]+(?:\.[\w-]+)*(?::\d+)?/[\w./~%+-]*(?:\?[\w=&%.+-]+)?", re.ASCII)
_RFC_822 = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) (GMT|UTC|[+-]\d{4})",
    re.ASCII,
)
_W3C = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
_RSS_VERSIONS = re.compile(r"2\.\d{1,2}(\.\d)?|0\.9[1-4]")
_MARKUP = {"html": True, "text/html": True, "text": False, "text/plain": False}
_HTML_LINKS = {"html", "text/html", "xhtml", "application/xhtml+xml"}
_IMAGE_PARTS = {"title", "url", "link", "width", "height", "description"}
_PERSON_PARTS = {f"{_ATOM}{name}" for name in ("name", "uri", "email")}

_PARSER: Any = cast("Any", feedparser.api).StrictFeedParser
_MIXIN: Any = cast("Any", feedparser.mixin)._FeedParserMixin  # noqa: SLF001 - its rules are to be followed
_PREFIXES: Mapping[str, str] = {
    uri.lower(): prefix for uri, prefix in cast("dict[str, str]", _MIXIN.namespaces).items()
}
_KNOWN_PREFIXES = {prefix.lower() for prefix in _PREFIXES.values() if prefix}
_looks_like_html: Any = _MIXIN.looks_like_html
_parse_date: Any = cast("Any", feedparser.datetimes)._parse_date  # noqa: SLF001 - likewise
_join: Any = cast("Any", feedparser.urls)._urljoin  # noqa: SLF001 - likewise

# What these do to an entry or a feed is nothing that we use.
_HARMLESS = {
    *("author", "category", "comments", "contributor", "copyright", "description", "enclosure", "generator"),
    *("managingeditor", "rights", "subtitle", "webmaster", "icon", "logo"),
    *("content_encoded", "dc_creator", "dc_subject", "dc_rights", "dc_publisher"),
    *("media_content", "media_thumbnail", "media_credit", "media_rating"),
}
_USED = {
    *("id", "link", "links", "title", "title_detail", "summary", "language", "ttl", "guidislink"),
    *("published", "created", "updated", "published_parsed", "created_parsed", "updated_parsed"),
    *("sy_updateperiod", "sy_updatefrequency", "image", "textinput", "source", "item", "entry"),
}
_USED_PREFIXES = {name.partition("_")[0] for name in _USED}


class _Unsure(Exception):
    """Something in the document is new to this reader."""


@dataclass(frozen=True)
class _Found:
    """The parts of an element that are used, each of which may stand there once."""

    parts: Mapping[str, Element]

    def text(self, name: str) -> str:
        """Return a text without attributes, or nothing."""
        element = self.parts.get(name)
        if element is None:
            return ""
        if element.attrib:
            raise _Unsure
        return _text(element)


def parse_quickly(text: str, *, base: str) -> RawFeed | None:
    """Read a document that is plain RSS or Atom; None if this reader is not sure of all of it."""
    if len(text) > _MAX_CHARACTERS or text.count("<") > _MAX_ELEMENTS:
        return None
    if _ODD.search(text) or _LONG_TAG.search(text) or not _are_usual(_NAMESPACE.findall(text)):
        return None
    parser = XMLParser()  # noqa: S314 - documents with entities were refused above
    try:
        parser.feed(text)
        root = parser.close()
        return _rss(root, base) if root.tag == "rss" else _atom(root, base)
    except (ParseError, _Unsure, ValueError, OverflowError):
        return None


def _are_usual(declared: list[tuple[str, str]]) -> bool:
    """Tell whether each prefix means what feedparser takes it for."""
    if len(declared) > _MAX_NAMESPACES:
        return False
    for prefix, uri in declared:
        meant = _PREFIXES.get(uri.lower())
        # These make feedparser take an Atom document for RSS.
        if uri.lower() in ("http://purl.org/rss/1.0/", "http://my.netscape.com/rdf/simple/0.9/"):
            return False
        if "backend.userland.com" in uri.lower() or (meant is None and prefix.lower() in _USED_PREFIXES):
            return False
        if prefix.lower() in _KNOWN_PREFIXES and (meant or "").lower() != prefix.lower():
            return False
    return True


def _rss(root: Element, base: str) -> RawFeed:
    if set(root.attrib) != {"version"} or not _RSS_VERSIONS.fullmatch(root.attrib["version"]):
        raise _Unsure
    if len(root) != 1 or root[0].tag != "channel" or root[0].attrib:
        raise _Unsure
    channel, items = _split(root[0], "item", _CHANNEL)
    title = channel.text("title")
    return RawFeed(
        title=title,
        title_is_markup=_is_markup(title),
        language=channel.text("language"),
        entries=[_rss_entry(item, base) for item in items],
        rest_s=told_rest_s(
            ttl=channel.text("ttl"), period=channel.text("period"), frequency=channel.text("frequency")
        ),
    )


def _rss_entry(item: Element, base: str) -> RawEntry:
    if item.attrib:
        raise _Unsure
    found, _ = _split(item, "", _ITEM)
    guid = found.parts.get("guid")
    if guid is not None and not guid.attrib.keys() <= {"isPermaLink"}:
        raise _Unsure
    key = "" if guid is None else _text(guid)
    if "link" in found.parts:
        link = _resolved(found.text("link"), base)
        if "&" in link:
            link = re.sub(r"&([A-Za-z0-9_]+);", r"&\g<1>", link.replace("&amp;", "&"))
    else:
        is_link = guid is not None and guid.attrib.get("isPermaLink", "true") == "true"
        link = key if is_link else ""
    title, date = found.text("title"), found.text("date")
    if not title:
        raise _Unsure
    return RawEntry(
        id=key,
        link=link,
        title=title,
        title_is_markup=_is_markup(title),
        date_text=date,
        date=_date(date),
    )


def _atom(root: Element, base: str) -> RawFeed:
    language = "{http://www.w3.org/XML/1998/namespace}lang"
    if root.tag != f"{_ATOM}feed" or not root.attrib.keys() <= {language}:
        raise _Unsure
    feed, entries = _split(root, f"{_ATOM}entry", _FEED)
    title, is_markup = _atom_title(feed)
    return RawFeed(
        title=title,
        title_is_markup=is_markup,
        language=root.attrib.get(language, "").replace("_", "-"),
        entries=[_atom_entry(entry, base) for entry in entries],
        rest_s=told_rest_s(ttl="", period=feed.text("period"), frequency=feed.text("frequency")),
    )


def _atom_entry(entry: Element, base: str) -> RawEntry:
    if entry.attrib:
        raise _Unsure
    found, links = _split(entry, f"{_ATOM}link", _ENTRY)
    key = found.text("id")
    title, is_markup = _atom_title(found)
    if not title:
        raise _Unsure
    published, updated = found.text("published"), found.text("updated")
    return RawEntry(
        id=key,
        link=_atom_link(links, base, key),
        title=title,
        title_is_markup=is_markup,
        date_text=published or updated,
        date=_date(published) or _date(updated),
    )


def _atom_title(found: _Found) -> tuple[str, bool]:
    element = found.parts.get("title")
    if element is None:
        return "", False
    if not element.attrib.keys() <= {"type"}:
        raise _Unsure
    is_markup = _MARKUP.get(element.attrib.get("type", "text"))
    if is_markup is None:
        raise _Unsure
    return _text(element), is_markup


def _atom_link(links: list[Element], base: str, key: str) -> str:
    """Return the last link to a page; without one the id counts, and else any other link."""
    page = other = ""
    for link in links:
        given = link.attrib
        if not given.get("href", "").strip() or not given.keys() <= _LINK_ATTRIBUTES or _text(link):
            raise _Unsure
        if given.get("rel", "alternate").lower() != "alternate":
            continue
        href = _resolved(given["href"], base)
        other = other or href
        if given.get("type", "text/html").lower() in _HTML_LINKS:
            page = href
    return page or key or other


_LINK_ATTRIBUTES = {"href", "rel", "type", "title", "hreflang", "length"}
_ONCE = {"title": "title", "link": "link", "guid": "guid", "pubDate": "date"}
_SYNDICATION = "{http://purl.org/rss/1.0/modules/syndication/}"
_RHYTHM = {f"{_SYNDICATION}updatePeriod": "period", f"{_SYNDICATION}updateFrequency": "frequency"}
_ITEM = _ONCE
_CHANNEL = {"title": "title", "language": "language", "ttl": "ttl", **_RHYTHM}
_CHANNEL_OTHERS = {"link", "pubDate", "lastBuildDate", "docs", f"{_ATOM}link"}
_FEED = {f"{_ATOM}title": "title", **_RHYTHM}
_FEED_OTHERS = {f"{_ATOM}{name}" for name in ("id", "link", "updated")}
_ENTRY = {f"{_ATOM}{name}": name for name in ("title", "id", "published", "updated")}
_ENTRY_OTHERS = {f"{_ATOM}content", f"{_ATOM}summary"}
_OTHERS = {
    id(_ITEM): set[str](),
    id(_CHANNEL): _CHANNEL_OTHERS,
    id(_FEED): _FEED_OTHERS,
    id(_ENTRY): _ENTRY_OTHERS,
}


def _split(holder: Element, many: str, used: Mapping[str, str]) -> tuple[_Found, list[Element]]:
    """Tell the parts of an element that are used from those that come often or do not matter."""
    parts: dict[str, Element] = {}
    often: list[Element] = []
    others = _OTHERS[id(used)]
    for part in holder:
        name = used.get(part.tag)
        if name is not None:
            if name in parts or len(part):
                raise _Unsure
            parts[name] = part
        elif part.tag == many:
            often.append(part)
        elif len(part):
            _check_nested(part, is_channel=used is _CHANNEL)
        elif part.tag not in others and not _is_harmless(part.tag):
            raise _Unsure
    if len(often) > MAX_READ:
        raise _Unsure
    return _Found(parts), often


def _check_nested(part: Element, *, is_channel: bool) -> None:
    """Accept the few elements with parts of their own that are common: a channel's picture, and people."""
    if is_channel and part.tag == "image":
        allowed = _IMAGE_PARTS
    elif part.tag in (f"{_ATOM}author", f"{_ATOM}contributor"):
        allowed = _PERSON_PARTS
    else:
        raise _Unsure
    if part.attrib or any(len(one) or one.attrib or one.tag not in allowed for one in part):
        raise _Unsure


@lru_cache(maxsize=2000)
def _is_harmless(tag: str) -> bool:
    """Tell whether feedparser would change nothing that is used for an element without parts."""
    namespace, _, local = tag.rpartition("}")
    prefix = _PREFIXES.get(namespace[1:].lower(), "") if namespace else ""
    name = f"{prefix}_{local}".lower() if prefix else local.lower()
    if name in _HARMLESS:
        return True
    return (
        name not in _USED and not hasattr(_PARSER, f"_start_{name}") and not hasattr(_PARSER, f"_end_{name}")
    )


def _text(element: Element) -> str:
    if len(element):
        raise _Unsure
    text = (element.text or "").strip()
    if len(text) > _TEXT_CHARACTERS:
        raise _Unsure
    return text


def _is_markup(text: str) -> bool:
    return ("<" in text or "&" in text) and bool(_looks_like_html(text))


def _resolved(link: str, base: str) -> str:
    return link if not link or _PLAIN_LINK.fullmatch(link) else str(_join(base, link))


def _date(text: str) -> datetime | None:
    if not text:
        return None
    if found := _RFC_822.fullmatch(text):
        day, month, year, hour, minute, second, zone = found.groups()
        number = _MONTHS.get(month, 0)
    elif found := _W3C.fullmatch(text):
        year, month, day, hour, minute, second, zone = found.groups()
        number = int(month)
    else:
        return _any_date(text)
    local = datetime(int(year), number, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    if zone in ("GMT", "UTC", "Z"):
        return local
    ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return local - ahead if zone[0] == "+" else local + ahead


def _any_date(text: str) -> datetime | None:
    moment = _parse_date(text)
    if moment is None:
        return None
    year, month, day, hour, minute, second = moment[:6]
    return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
