"""OPML: lists of feeds as readers exchange them, with the series that ours bring.

A document comes from anywhere. It is read by the bare parser of the standard library, which is told to refuse
a document type: without one there are no entities, so nothing grows beyond what was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import urlsplit
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from headgate.domain.errors import UserError
from headgate.domain.text import MAX_TITLE_LENGTH

MAX_BYTES = 5 * 2**20
MAX_FEEDS = 10_000
MAX_ADDRESS = 2_000
NAMESPACE = "urn:headgate:opml"
"""Of the attributes that only we write: `series`, `pattern` and `language`."""

_MAX_DEPTH = 100
_SEPARATOR = " "
_EXPORT_ANEW = "Export it anew from the reader that wrote it, as OPML."


@dataclass(frozen=True)
class OpmlFeed:
    """A feed of a list, and the series that it brings, if it says so."""

    url: str
    title: str = ""
    folder: str = ""
    """The names of the folders that it lies in, the outermost first: `Comics / Daily`."""
    series: str = ""
    pattern: str = ""
    language: str = ""


def parse_opml(document: bytes) -> list[OpmlFeed]:
    """Return the feeds of a document in its order, each once; raise `UserError` for what is no OPML."""
    if len(document) > MAX_BYTES:
        raise UserError(
            f"The document is larger than {MAX_BYTES // 2**20} MiB.",
            remedy="Split it into several documents.",
        )
    reading = _Reading()
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.StartDoctypeDeclHandler = reading.refuse_doctype
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        raise UserError(
            f"The document is not well-formed XML: {expat.ErrorString(error.code)} in line {error.lineno}.",
            remedy=_EXPORT_ANEW,
        ) from error
    except (ValueError, LookupError) as error:
        raise UserError("The document's encoding is unknown.", remedy="Save it as UTF-8.") from error
    return list(dict.fromkeys(reading.feeds))


@dataclass
class _Reading:
    """What was read so far, and the folders around it."""

    feeds: list[OpmlFeed] = field(default_factory=list[OpmlFeed])
    folders: list[str] = field(default_factory=list[str])
    depth: int = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        tag = name.rpartition(_SEPARATOR)[2].lower()
        if self.depth == 1 and tag != "opml":
            raise UserError(f"The document is not OPML: it begins with <{tag[:40]}>.", remedy=_EXPORT_ANEW)
        if self.depth > _MAX_DEPTH:
            raise UserError("The document's folders are nested too deeply.", remedy=_EXPORT_ANEW)
        if tag == "outline":
            self._outline(_plain(attributes), _own(attributes))
        else:
            self.folders.append("")

    def end(self, _name: str) -> None:
        self.depth -= 1
        self.folders.pop()

    def refuse_doctype(self, *_declared: object) -> None:
        raise UserError(
            "The document has a document type (<!DOCTYPE …>), which Headgate does not accept.",
            remedy="Remove that line; OPML needs none.",
        )

    def _outline(self, plain: dict[str, str], own: dict[str, str]) -> None:
        title = _line(plain.get("title") or plain.get("text") or "")
        if url := plain.get("xmlurl", "").strip():
            if len(self.feeds) >= MAX_FEEDS:
                raise UserError(
                    f"The document has more than {MAX_FEEDS:,} feeds.",
                    remedy="Split it into several documents.",
                )
            folder = _line(" / ".join(filter(None, self.folders)))
            self.feeds.append(OpmlFeed(url, title, folder, *_mapping(own)))
        self.folders.append(title)


def _mapping(own: dict[str, str]) -> tuple[str, str, str]:
    """Return series, pattern and language; a pattern without a series is for nothing."""
    series = _line(own.get("series", ""))
    return (series, own.get("pattern", ""), _line(own.get("language", ""))) if series else ("", "", "")


def _plain(attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes of OPML itself, whose names readers write in any case."""
    return {name.lower(): value for name, value in attributes.items() if _SEPARATOR not in name}


def _own(attributes: dict[str, str]) -> dict[str, str]:
    prefix = NAMESPACE + _SEPARATOR
    return {name.removeprefix(prefix): value for name, value in attributes.items() if name.startswith(prefix)}


def _line(text: str) -> str:
    return " ".join(text.split())[:MAX_TITLE_LENGTH].rstrip()


def write_opml(feeds: Sequence[OpmlFeed], *, title: str, now: datetime) -> str:
    """Return a document of OPML 2.0 that every reader understands, and that we read back as it was."""
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<opml {_attributes([('version', '2.0'), ('xmlns:headgate', NAMESPACE)])}>",
            "  <head>",
            f"    <title>{_text(title)}</title>",
            f"    <dateCreated>{format_datetime(now)}</dateCreated>",
            "  </head>",
            "  <body>",
            *(f"    <outline {_attributes(_outline_of(feed))}/>" for feed in feeds),
            "  </body>",
            "</opml>",
            "",
        ]
    )


def _outline_of(feed: OpmlFeed) -> Iterable[tuple[str, str]]:
    name = feed.title or feed.url
    yield from (("type", "rss"), ("text", name), ("title", name), ("xmlUrl", feed.url))
    yield from (("htmlUrl", _site_of(feed.url)),)
    if feed.series:
        yield from (("headgate:series", feed.series), ("headgate:pattern", feed.pattern))
        yield ("headgate:language", feed.language)


def _attributes(pairs: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{name}={quoteattr(_allowed(value))}" for name, value in pairs if value)


def _text(text: str) -> str:
    return _allowed(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _allowed(text: str) -> str:
    """Leave out the signs that XML cannot hold, not even escaped."""
    return "".join(sign for sign in text if sign in "\t\n\r" or (sign >= " " and sign not in "\ufffe\uffff"))


def _site_of(url: str) -> str:
    """Return the address of the site that a feed is of, as far as its own tells: never with a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}/" if parts.scheme in {"http", "https"} and host else ""
