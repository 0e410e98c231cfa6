"""The feeds that a web page names in its head."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, cast
from urllib.parse import urljoin

from headgate.connectors.feeds.decoding import decode
from headgate.connectors.feeds.entries import plain_text, web_link

USUAL_PLACES = ("/feed", "/rss.xml", "/atom.xml", "/feed.xml", "/index.xml")
_TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json")
_MAX_FEEDS = 20
_LOOKED_AT = 200_000
_PIECE = 2048


@dataclass(frozen=True)
class NamedFeed:
    """A feed that a page names, and what it calls it."""

    url: str
    title: str


class _Head(HTMLParser):
    """Collects the links to feeds until the page's body begins."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.title = ""
        self.feeds: list[NamedFeed] = []
        self.ended = False
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self._in_title = tag == "title"
        if tag == "base" and "href" in named:
            self.base = _joined(self.base, named["href"])
        elif tag == "link":
            self._take_link(named)
        self.ended = self.ended or tag == "body"

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        self.ended = self.ended or tag == "head"

    def _take_text(self, text: str) -> None:
        if self._in_title and len(self.title) < _PIECE:
            self.title += text

    handle_data = cast("Any", _take_text)

    def _take_link(self, named: dict[str, str]) -> None:
        kind = named.get("type", "").partition(";")[0].strip().lower()
        url = web_link(_joined(self.base, named.get("href", "").strip()))
        is_feed = "alternate" in named.get("rel", "").lower().split() and kind in _TYPES
        if is_feed and url and len(self.feeds) < _MAX_FEEDS:
            self.feeds.append(NamedFeed(url, plain_text(named.get("title", ""), is_markup=True)))


def feeds_of_page(body: bytes, *, content_type: str, base: str) -> list[NamedFeed]:
    """Return the feeds that a page names, those of its comments last."""
    head = _Head(base)
    text = decode(body, content_type).text[:_LOOKED_AT]
    # Piece by piece, so that a page without an end of its head is not gone through again and again.
    for start in range(0, len(text), _PIECE):
        head.feed(text[start : start + _PIECE])
        if head.ended:
            break
    title = plain_text(head.title, is_markup=True)
    named = {one.url: NamedFeed(one.url, one.title or title) for one in head.feeds}
    return sorted(named.values(), key=lambda one: "comment" in f"{one.url} {one.title}".lower())


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return ""
