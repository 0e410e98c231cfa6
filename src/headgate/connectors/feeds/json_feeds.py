"""JSON Feed, versions 1.0 and 1.1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urljoin

from headgate.connectors.feeds.answers import http_date
from headgate.connectors.feeds.raw import MAX_READ, RawEntry, RawFeed
from headgate.domain.errors import Malformed

_MAX_NODES = 400_000


def parse_json(text: str, *, base: str) -> RawFeed:
    """Read a JSON Feed; raise `Malformed` if the document is none."""
    feed = _load(text)
    version, items = feed.get("version"), feed.get("items")
    if not isinstance(items, list) or not (isinstance(version, str) and "jsonfeed.org" in version):
        raise Malformed("this is JSON of another kind, not a feed (its `version` does not name jsonfeed.org)")
    entries = cast("list[Any]", items)
    return RawFeed(
        title=_text(feed, "title"),
        language=_text(feed, "language"),
        entries=[_raw_entry(item, base) for item in entries[:MAX_READ]],
        warnings=(f"only the first {MAX_READ:,} entries were read",) if len(entries) > MAX_READ else (),
    )


def _load(text: str) -> Mapping[str, Any]:
    # Small nodes take far more memory than their characters.
    if text.count("[") + text.count("{") > _MAX_NODES:
        raise Malformed("this is JSON with too many parts for a feed")
    try:
        feed = json.loads(text)
    except RecursionError as error:
        raise Malformed("this is JSON that is nested too deeply for a feed") from error
    except ValueError as error:
        raise Malformed("this looks like JSON, but is broken") from error
    if not isinstance(feed, dict):
        raise Malformed("this is JSON of another kind, not a feed")
    return cast("Mapping[str, Any]", feed)


def _raw_entry(item: object, base: str) -> RawEntry:
    if not isinstance(item, dict):
        return RawEntry()
    entry = cast("Mapping[str, Any]", item)
    link = _text(entry, "url") or _text(entry, "external_url")
    date_text = _text(entry, "date_published") or _text(entry, "date_modified")
    return RawEntry(
        id=_text(entry, "id"),
        link=_joined(base, link),
        title=_text(entry, "title"),
        summary=_text(entry, "content_text") or _text(entry, "summary") or _text(entry, "content_html"),
        date_text=date_text,
        date=_date(date_text),
        language=_text(entry, "language"),
    )


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link) if link else ""
    except ValueError:
        return ""


def _date(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text[:64].strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return http_date(text)


def _text(holder: Mapping[str, Any], name: str) -> str:
    """Return a text; ids are numbers in some feeds, though they should not be."""
    value = holder.get(name)
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return str(value) if abs(value) < 10**18 else ""
