"""RSS and Atom, by feedparser within bounds.

`feedparser.parse` fetches, guesses encodings and cleans markup, all without a bound. Its two parsers, one for
well-formed documents and one for the others, are driven here instead, and count what they are given: a
hostile document costs no more than the budget.
"""

from __future__ import annotations

import io
import re
import xml.sax
import xml.sax.handler
import xml.sax.xmlreader
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import feedparser.api
import feedparser.sanitizer

from headgate.connectors.feeds.answers import told_rest_s
from headgate.connectors.feeds.raw import MAX_READ, RawEntry, RawFeed
from headgate.domain.errors import Malformed

_MAX_ELEMENTS = 120_000
_MAX_LOOSE_ELEMENTS = 60_000
_MAX_PIECES = 3_000_000
_MAX_LOOSE_PIECES = 600_000
_MAX_ATTRIBUTES = 200
_MAX_NAMESPACES = 50
_MAX_DEPTH = 500
_LOOSE_CHARACTERS = 2 * 2**20
_HEAD_CHARACTERS = 32_768
_TEXT_CHARACTERS = 20_000

# By its usual name feedparser takes some words (é, ©) for UTF-8 that was decoded wrongly, and spoils them.
_ENCODING = "utf8"
_API = cast("Any", feedparser.api)
_SANITIZER = cast("Any", feedparser.sanitizer)
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,500}>")
_LONG_TAG = re.compile(r"<\w[^<>]{20000,}")
_MAX_SIGNS = 2000
_ROOT = re.compile(r"<(?:\w[\w.-]{0,40}:)?(\w[\w.-]{0,40})")
_ROOTS = {"rss", "feed", "rdf", "channel"}
_MARKUP = {"text/html", "application/xhtml+xml"}


class _TooMuch(Exception):
    """The document is larger than the budget; what was read until here counts."""


@dataclass
class _Spent:
    elements: int = 0
    pieces: int = 0
    depth: int = 0
    kept: int = 0
    namespaces: int = 0


class _Bounded:
    """What both parsers do differently: count, and leave out what is costly and not needed."""

    parser: Any
    spent: _Spent
    well_formed: bool

    def start_element(self, name: Any, qname: Any, attributes: Any) -> None:
        # feedparser looks each attribute up by going through all of them.
        if len(attributes) > _MAX_ATTRIBUTES:
            raise _TooMuch("an element has too many attributes")
        cast("Any", super()).startElementNS(name, qname, attributes)

    def start_tag(self, tag: str, attributes: list[tuple[str, str]]) -> None:
        spent = self.spent
        spent.elements += 1
        spent.depth += 1
        spent.kept = 0
        if spent.elements > (_MAX_ELEMENTS if self.well_formed else _MAX_LOOSE_ELEMENTS):
            raise _TooMuch("it has too many elements")
        if spent.depth > _MAX_DEPTH and self.well_formed:
            raise _TooMuch("its elements are nested too deeply")
        entries = cast("Any", self).entries
        if len(entries) >= MAX_READ and tag.rpartition(":")[2] in ("item", "entry"):
            raise _TooMuch(f"it has more than {MAX_READ:,} entries")
        cast("Any", super()).unknown_starttag(tag, attributes[:_MAX_ATTRIBUTES])

    def end_tag(self, tag: str) -> None:
        self.spent.depth -= 1
        cast("Any", super()).unknown_endtag(tag)

    def text(self, piece: Any, escape: int = 1) -> None:
        self._count_piece()
        self.spent.kept += len(piece)
        if self.spent.kept <= _TEXT_CHARACTERS:
            cast("Any", super()).handle_data(piece, escape)
        elif self.spent.kept - len(piece) < _TEXT_CHARACTERS:
            cast("Any", super()).handle_data(piece[:_TEXT_CHARACTERS], escape)

    def character(self, reference: str) -> None:
        self._count_piece()
        try:
            cast("Any", super()).handle_charref(reference)
        except (ValueError, OverflowError):
            cast("Any", super()).handle_data("\ufffd", 0)

    def entity(self, reference: str) -> None:
        self._count_piece()
        cast("Any", super()).handle_entityref(reference)

    def namespace(self, prefix: str | None, uri: str) -> None:
        # They are gone through for each element.
        self.spent.namespaces += 1
        if self.spent.namespaces <= _MAX_NAMESPACES:
            cast("Any", super()).track_namespace(prefix, uri)

    def no_author(self, key: str = "author") -> None:
        """Leave out the search for an e-mail address, whose time grows with the square of the text."""

    def _count_piece(self) -> None:
        self.spent.pieces += 1
        if self.spent.pieces > (_MAX_PIECES if self.well_formed else _MAX_LOOSE_PIECES):
            raise _TooMuch("its text is in too many pieces")


def _bounded(parser: Any, *, well_formed: bool) -> Any:
    """Return a parser of feedparser's with the bounds around it."""
    overridden = {
        "startElementNS": _Bounded.start_element,
        "unknown_starttag": _Bounded.start_tag,
        "unknown_endtag": _Bounded.end_tag,
        "handle_data": _Bounded.text,
        "handle_charref": _Bounded.character,
        "handle_entityref": _Bounded.entity,
        "track_namespace": _Bounded.namespace,
        "_sync_author_detail": _Bounded.no_author,
    }
    # An id is a name: it must not change with the address that the feed is read from.
    relative = parser.can_be_relative_uri - {"id"}
    extras = {
        "well_formed": well_formed,
        "can_be_relative_uri": relative,
        "resolve_relative_uris": False,
        "sanitize_html": False,
    }
    return type(f"Bounded{parser.__name__}", (_Bounded, parser), {**overridden, **extras})


_WELL_FORMED = _bounded(_API.StrictFeedParser, well_formed=True)
_LOOSE = _bounded(_API.LooseFeedParser, well_formed=False)


@dataclass
class _Reading:
    """What a parser made of a document."""

    parser: Any
    too_much: str = ""
    broken: str = ""
    cut_off: bool = False

    @property
    def whole_entries(self) -> Sequence[Mapping[str, Any]]:
        """The entries without the one in which reading broke off: half a title is worse than none."""
        half = self.parser.inentry and (self.too_much or self.cut_off)
        return self.parser.entries[:-1] if half else self.parser.entries

    @property
    def warnings(self) -> Iterator[str]:
        if self.too_much:
            yield f"only a part of the document was read: {self.too_much}"
        if self.broken:
            yield f"the document is broken, so entries may be missing: {self.broken}"


def parse_xml(text: str, *, base: str) -> RawFeed:
    """Read RSS or Atom; raise `Malformed` if the document is neither."""
    version, document, entities = _split_head(_until_endless_tag(text))
    reading = _read_well_formed(document, base)
    if reading.broken:
        reading = _read_loosely(reading, document, base, entities)
    found = reading.parser
    if not (version or found.version or (found.entries and _root_of(text) in _ROOTS)):
        raise Malformed(_what_else(text))
    return _raw_feed(reading)


def _until_endless_tag(text: str) -> str:
    """Return the text before an element with attributes by the thousand: they take many times its size."""
    for tag in _LONG_TAG.finditer(text):
        if tag[0].count("=") > _MAX_SIGNS:
            return text[: tag.start()]
    return text


def _split_head(text: str) -> tuple[str, bytes, dict[str, str]]:
    """Return the version that the document type tells, the document without it, and its harmless entities."""
    body = text[found.end() :] if (found := _DECLARATION.match(text)) else text
    first = re.search(r"<\w", body)
    if first is None or first.start() > _HEAD_CHARACTERS:
        raise Malformed(_what_else(text))
    # Runs of white space make feedparser's search for declarations slow.
    head = re.sub(r"\s+", "\n", body[: first.start()])
    document = "<?xml version='1.0' encoding='utf-8'?>\n" + head.lstrip() + body[first.start() :]
    version, replaced, entities = _SANITIZER.replace_doctype(document.encode("utf-8", "replace"))
    return str(version or ""), replaced, entities


def _read_well_formed(document: bytes, base: str) -> _Reading:
    parser = _WELL_FORMED(base, None, _ENCODING)
    parser.spent = _Spent()
    reading = _Reading(parser)
    reader: Any = xml.sax.make_parser()  # noqa: S317 - entities are taken out before, and expat bounds the rest
    reader.setFeature(xml.sax.handler.feature_namespaces, 1)
    reader.setFeature(xml.sax.handler.feature_external_ges, 0)
    reader.setContentHandler(parser)
    reader.setErrorHandler(parser)
    source = xml.sax.xmlreader.InputSource()
    source.setByteStream(io.BytesIO(document))
    try:
        reader.parse(source)
    except _TooMuch as error:
        reading.too_much = str(error)
    except xml.sax.SAXParseException as error:
        reading.broken = f"{error.getMessage()} in line {error.getLineNumber()}"
        reading.cut_off = error.getMessage() in (
            "no element found",
            "unclosed token",
            "unclosed CDATA section",
        )
    except Exception as error:  # noqa: BLE001 - whatever the library stumbles over is the document's fault
        reading.broken = type(error).__name__
    return reading


def _read_loosely(first: _Reading, document: bytes, base: str, entities: dict[str, str]) -> _Reading:
    parser = _LOOSE(base, None, _ENCODING, entities)
    parser.spent = _Spent()
    reading = _Reading(parser, broken=first.broken, cut_off=first.cut_off)
    text = document.decode("utf-8", "replace")
    if len(text) > _LOOSE_CHARACTERS:
        reading.too_much = "of broken documents the first two million characters are looked at"
    try:
        parser.feed(text[:_LOOSE_CHARACTERS])
    except _TooMuch as error:
        reading.too_much = str(error)
    except Exception as error:  # noqa: BLE001 - whatever the library stumbles over is the document's fault
        reading.broken = f"{first.broken}; {type(error).__name__}"
    return reading if len(parser.entries) >= len(first.parser.entries) else first


def _root_of(text: str) -> str:
    found = _ROOT.search(text, 0, 2 * _HEAD_CHARACTERS)
    return found[1].lower() if found else ""


def _what_else(text: str) -> str:
    """Say what a document is that is no feed."""
    root = _root_of(text)
    match root:
        case "opml":
            return "this is a list of feeds (OPML), not a feed; it can be imported"
        case "urlset" | "sitemapindex":
            return "this is a map of a site for search engines, not a feed"
        case "" | "html":
            return "this is a text of another kind, not a feed"
        case _:
            return f"this is XML of another kind (<{root}>), not a feed"


def _raw_feed(reading: _Reading) -> RawFeed:
    feed: Mapping[str, Any] = dict(reading.parser.feeddata)
    return RawFeed(
        title=_text(feed, "title"),
        title_is_markup=_is_markup(feed, "title"),
        language=_text(feed, "language"),
        entries=[_raw_entry(dict(entry)) for entry in reading.whole_entries],
        warnings=tuple(reading.warnings),
        rest_s=told_rest_s(
            ttl=_text(feed, "ttl"),
            period=_text(feed, "sy_updateperiod"),
            frequency=_text(feed, "sy_updatefrequency"),
        ),
        cut_off=reading.cut_off,
    )


def _raw_entry(entry: Mapping[str, Any]) -> RawEntry:
    date_text, date = _date(entry)
    return RawEntry(
        id=_text(entry, "id"),
        link=_link(entry),
        title=_text(entry, "title"),
        title_is_markup=_is_markup(entry, "title"),
        summary=_text(entry, "summary"),
        date_text=date_text,
        date=date,
        language=_text(entry, "language") or _text(_detail(entry, "title"), "language"),
    )


def _date(entry: Mapping[str, Any]) -> tuple[str, datetime | None]:
    """Return the time of publication, or else of the last change, in words and as a time."""
    words = [text for name in ("published", "created", "updated") if (text := _text(entry, name))]
    for name in ("published_parsed", "created_parsed", "updated_parsed"):
        moment = entry.get(name)
        if moment is not None:
            try:
                return words[0] if words else "", _utc(moment)
            except (ValueError, TypeError, OverflowError):
                continue
    return words[0] if words else "", None


def _utc(moment: Sequence[int]) -> datetime:
    year, month, day, hour, minute, second = moment[:6]
    return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)


def _link(entry: Mapping[str, Any]) -> str:
    links = cast("Sequence[Mapping[str, Any]]", entry.get("links", ()))
    others = [_text(link, "href") for link in links if link.get("rel") == "alternate"]
    return next((link for link in (_text(entry, "link"), *others) if link), "")


def _is_markup(holder: Mapping[str, Any], name: str) -> bool:
    return _text(_detail(holder, name), "type") in _MARKUP


def _detail(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    detail = holder.get(f"{name}_detail")
    return dict(cast("dict[str, Any]", detail)) if isinstance(detail, dict) else {}


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""
