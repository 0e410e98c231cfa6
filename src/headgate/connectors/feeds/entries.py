"""Judging raw entries: a key, a plain title, a believable time, and each of them once."""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from headgate.connectors.feeds.raw import RawEntry
from headgate.domain.listings.listings import BadEntry, Entry

MAX_ENTRIES = 2000
_MAX_BAD = 100
_KEY_CHARACTERS = 500
_URL_CHARACTERS = 8000
_TITLE_CHARACTERS = 500
_EXCERPT_CHARACTERS = 120
_LOOKED_AT = 4000
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
_AHEAD = timedelta(days=2)

_SCRIPT = re.compile(r"<(script|style)\b[^<>]*>[^<]*</\1\s*>", re.IGNORECASE)
_INLINE = r"a|abbr|b|big|code|em|font|i|mark|s|small|span|strong|sub|sup|tt|u|wbr"
_INLINE_TAG = re.compile(rf"</?(?:{_INLINE})(?=[\s/>])[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<!--[^<>]*-->|<!\[CDATA\[|\]\]>|</?[a-z][^<>]*>", re.IGNORECASE)
_KNOWN_TAG = re.compile(rf"</?(?:{_INLINE}|br|div|h\d|hr|img|li|ol|p|ul)(?=[\s/>])[^<>]*>", re.IGNORECASE)
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff]")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8}){0,3}")


@dataclass
class JudgedEntry:
    """The entries of a document, and what is wrong with it."""

    entries: list[Entry] = field(default_factory=list[Entry])
    bad: list[BadEntry] = field(default_factory=list[BadEntry])
    warnings: list[str] = field(default_factory=list[str])


def judge_entries(
    raw: Sequence[RawEntry], *, language: str, now: datetime, max_entries: int = MAX_ENTRIES
) -> JudgedEntry:
    """Return what can be understood, newest first, each key once.

    Entries with one ID but different links or titles are different entries. Each of them gets a key of its
    own, so that no key depends on which others are listed beside it.
    """
    judged = JudgedEntry()
    faults: Counter[str] = Counter()
    found: dict[str, dict[tuple[str, str], Entry]] = {}
    bad: dict[str, BadEntry] = {}
    for one in raw:
        entry = _entry(one, language=language, now=now, faults=faults)
        if entry is None:
            bad[one.date_text] = _bad_entry(one)
        elif entry.key not in found:
            found[entry.key] = {(entry.url, entry.title): entry}
        else:
            faults["the id of another entry"] += 1
            same, identity = found[entry.key], (entry.url, entry.title)
            same[identity] = _newer(same[identity], entry) if identity in same else entry
    judged.entries = _newest_first(entry for same in found.values() for entry in _told_apart(same))
    if len(judged.entries) > max_entries:
        judged.warnings.append(
            f"of {len(judged.entries):,} entries only the newest {max_entries:,} are read;"
            " the setting feeds.max_entries raises that"
        )
        del judged.entries[max_entries:]
    judged.warnings.extend(f"entries with {fault}: {count}" for fault, count in faults.items())
    judged.bad = list(bad.values())[:_MAX_BAD]
    return judged


def _entry(raw: RawEntry, *, language: str, now: datetime, faults: Counter[str]) -> Entry | None:
    title = plain_text(raw.title, is_markup=raw.title_is_markup)
    excerpt = "" if title else _shortened(plain_text(raw.summary, is_markup=True), _EXCERPT_CHARACTERS)
    url = web_link(raw.link) or web_link(raw.id)
    name = _stripped(raw.id) or url
    if not (name or title or excerpt):
        return None
    published_at = _believable(raw, now, faults)
    return Entry(
        key=_key(name) if name else _hashed(title or excerpt, raw.date_text),
        title=_shortened(title, _TITLE_CHARACTERS) or excerpt or url or _shortened(name, _EXCERPT_CHARACTERS),
        url=url,
        published_at=published_at,
        language=language_tag(raw.language) or language_tag(language),
    )


def _told_apart(same: Mapping[tuple[str, str], Entry]) -> list[Entry]:
    """Return the entries of one ID, with keys of their own where they are several."""
    if len(same) == 1:
        return list(same.values())
    return [
        replace(entry, key=_key(f"{entry.key}#{_hashed(*identity)[:16]}")) for identity, entry in same.items()
    ]


def _bad_entry(raw: RawEntry) -> BadEntry:
    """Name the entry by the little that it has, so that it has the same name the next time."""
    return BadEntry(_hashed(raw.date_text), "the entry has neither an id nor a link, a title or a text")


def _newer(one: Entry, other: Entry) -> Entry:
    """Return the newer of two entries with one key; where times do not tell, the first."""
    if one.published_at is None or other.published_at is None:
        return other if one.published_at is None and other.published_at is not None else one
    return other if other.published_at > one.published_at else one


def _newest_first(entries: Iterable[Entry]) -> list[Entry]:
    """Order by time; an entry without one stays behind the entry that it followed."""
    last = datetime.max.replace(tzinfo=UTC)
    ordered: list[tuple[datetime, Entry]] = []
    for entry in entries:
        last = entry.published_at or last
        ordered.append((last, entry))
    ordered.sort(key=lambda pair: pair[0], reverse=True)
    return [entry for _, entry in ordered]


def _believable(raw: RawEntry, now: datetime, faults: Counter[str]) -> datetime | None:
    """Return the time of an entry, or nothing where it cannot be: then the time it was seen counts."""
    if raw.date is None:
        if raw.date_text.strip():
            faults["a date that cannot be understood"] += 1
        return None
    if raw.date < _EARLIEST:
        faults["a date before 1970"] += 1
        return None
    if raw.date > now + _AHEAD:
        faults["a date in the future"] += 1
        return None
    return raw.date


def plain_text(text: str, *, is_markup: bool) -> str:
    """Return a text in one line, without markup, entities and invisible characters."""
    text = text[:_LOOKED_AT]
    if is_markup:
        text = _SCRIPT.sub(" ", text)
        text = html.unescape(_TAG.sub(" ", _INLINE_TAG.sub("", text)))
    else:
        # Some escape their markup without saying so; what only looks like a tag stays.
        text = _KNOWN_TAG.sub(" ", _INLINE_TAG.sub("", text))
    return " ".join(_UNSEEN.sub(" ", text).split())


def web_link(link: str) -> str:
    """Return a link that a browser may open, or nothing."""
    link = _stripped(link)
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    is_web = parts.scheme.lower() in ("http", "https") and bool(parts.netloc)
    return link.replace(" ", "%20") if is_web and len(link) <= _URL_CHARACTERS else ""


def language_tag(text: str) -> str:
    """Return a language as a tag in small letters, or nothing."""
    tag = text.strip().replace("_", "-").lower()
    return tag if _LANGUAGE.fullmatch(tag) else ""


def _stripped(text: str) -> str:
    return _UNSEEN.sub("", text).strip()


def _key(name: str) -> str:
    return name if len(name) <= _KEY_CHARACTERS else f"{name[:100]}#{_hashed(name)}"


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
