"""From the bytes of an answer to entries, or to the reason why they are no feed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from headgate.connectors.feeds.decoding import decode
from headgate.connectors.feeds.entries import MAX_ENTRIES, judge_entries, plain_text
from headgate.connectors.feeds.json_feeds import parse_json
from headgate.connectors.feeds.quick_xml import parse_quickly
from headgate.connectors.feeds.raw import RawFeed
from headgate.connectors.feeds.xml_feeds import parse_xml
from headgate.domain.errors import Malformed
from headgate.domain.listings.listings import BadEntry, Entry

_TITLE_CHARACTERS = 300
_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]{0,500}>\s*)?(?:<!--(?:[^-]|-(?!->)){0,2000}-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE,
)
_LOOKED_AT = 4096


@dataclass(frozen=True)
class ParsedFeed:
    """A document that is a feed."""

    title: str
    entries: tuple[Entry, ...]
    bad: tuple[BadEntry, ...]
    warnings: tuple[str, ...]
    rest_s: float | None
    cut_off: bool


def parse_feed(
    body: bytes, *, content_type: str, base: str, now: datetime, max_entries: int = MAX_ENTRIES
) -> ParsedFeed:
    """Read a document of any kind of feed; raise `Malformed` with what it is instead.

    This is work for a thread: a large document takes seconds.
    """
    decoded = decode(body, content_type)
    text = decoded.text.lstrip("\ufeff \t\r\n")
    if not text:
        raise Malformed("the answer is empty")
    if is_page(text):
        raise Malformed("this is a web page, not a feed; `find` looks for the feeds that it names")
    raw = _read(text, base=base)
    judged = judge_entries(raw.entries, language=raw.language, now=now, max_entries=max_entries)
    return ParsedFeed(
        title=plain_text(raw.title, is_markup=raw.title_is_markup)[:_TITLE_CHARACTERS],
        entries=tuple(judged.entries),
        bad=tuple(judged.bad),
        warnings=(*decoded.warnings, *raw.warnings, *judged.warnings),
        rest_s=raw.rest_s,
        cut_off=raw.cut_off,
    )


def _read(text: str, *, base: str) -> RawFeed:
    if text[0] in "{[":
        return parse_json(text, base=base)
    return parse_quickly(text, base=base) or parse_xml(text, base=base)


def is_page(text: str) -> bool:
    """Tell whether a text is a web page, whatever its server calls it."""
    return _PAGE.match(text[:_LOOKED_AT]) is not None
