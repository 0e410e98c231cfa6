"""Recognising an entry whose key changed: the same link and title under another key.

Publishers write the keys of feeds themselves, and some write new ones at each fetch. A new key is another
name of a known entry if that entry is not listed under its old key any more, both have the same link and
title, and

    the dates are the same, or one of the two has none; or
    no key of the whole answer is known, and at least two entries are recognised by link and title: then the
    dates are as new as the keys.

Where an entry with the same link and title is listed under a known key, keys hold, and a new key is a new
entry. So two entries of one answer are never one. What stays ambiguous: an undated entry that replaces
another one with the same link and title counts as that one. A link to a front page identifies nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from urllib.parse import urlsplit

MIN_RECOGNISED = 2
"""So many entries must be recognised before a change of all keys and dates is believed."""


@dataclass(frozen=True, slots=True)
class NamedEntry:
    """An entry by its key, and by what else tells it from others."""

    key: str
    identity: int
    """Of its link and title; 0 where these identify nothing."""
    published_at: datetime | None


def identity_of(title: str, url: str) -> int:
    """Return a number for a link and title as they are stored; 0 where they identify nothing."""
    if not title or not _leads_somewhere(url):
        return 0
    digest = blake2b(f"{title}\x1f{url}".encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def match_renamed(listed: Sequence[NamedEntry], known: Sequence[NamedEntry]) -> dict[str, str]:
    """Return the old key of each listed entry that is known under another one."""
    known_keys = {entry.key for entry in known}
    listed_keys = {entry.key for entry in listed}
    holding = {entry.identity for entry in listed if entry.key in known_keys}
    new = _by_identity(one for one in listed if one.key not in known_keys and one.identity not in holding)
    gone = _by_identity(one for one in known if one.key not in listed_keys)
    renamed: dict[str, str] = {}
    for identity, entries in new.items():
        renamed |= _pair(entries, gone[identity], any_date=False)
    if not listed_keys & known_keys:
        renamed |= _match_with_new_dates(new, gone, renamed)
    return renamed


def _match_with_new_dates(
    new: dict[int, list[NamedEntry]], gone: dict[int, list[NamedEntry]], renamed: dict[str, str]
) -> dict[str, str]:
    """Match entries whose dates are as new as their keys, if enough of them tell so."""
    taken = set(renamed.values())
    found: dict[str, str] = {}
    for identity, entries in new.items():
        left = [one for one in entries if one.key not in renamed]
        if len(entries) == 1:
            found |= _pair(left, [one for one in gone[identity] if one.key not in taken], any_date=True)
    return found if len(found) + len(renamed) >= MIN_RECOGNISED else {}


def _pair(new: Iterable[NamedEntry], gone: Iterable[NamedEntry], *, any_date: bool) -> dict[str, str]:
    """Give each new key at most one old one, and each old one away once."""
    left = list(gone)
    pairs: dict[str, str] = {}
    for entry in new:
        old = next((one for one in left if any_date or _may_be_one(entry, one)), None)
        if old is not None:
            left.remove(old)
            pairs[entry.key] = old.key
    return pairs


def _may_be_one(one: NamedEntry, other: NamedEntry) -> bool:
    dates = {one.published_at, other.published_at}
    return len(dates) == 1 or None in dates


def _by_identity(entries: Iterable[NamedEntry]) -> dict[int, list[NamedEntry]]:
    grouped: dict[int, list[NamedEntry]] = defaultdict(list)
    for entry in entries:
        if entry.identity:
            grouped[entry.identity].append(entry)
    return grouped


def _leads_somewhere(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return bool(url)
    return parts.path not in {"", "/"} or bool(parts.query or parts.fragment)
