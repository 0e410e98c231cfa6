"""What listings hold: entries, newest first or all of them, and what an answer says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Entry:
    """One entry of a listing: a chapter, an article."""

    key: str
    """The source's own name of it, the same for as long as it is there."""
    title: str
    url: str
    published_at: datetime | None
    number: str = ""
    """The chapter's number as the source writes it; empty where it has none, or only in the title."""
    volume: str = ""
    language: str = ""
    """A language tag in small letters (`en`, `pt-br`); empty where the source does not tell."""
    group: str = ""
    """Who translated or published it."""
    external: bool = False
    """It is read elsewhere: the source only has a link."""


@dataclass(frozen=True)
class BadEntry:
    """An entry that cannot be understood; it becomes a miss, alone."""

    key: str
    reason: str


@dataclass(frozen=True)
class Listed:
    """An answer of a listing; `cursor` carries the validators for the next call."""

    entries: tuple[Entry, ...]
    cursor: dict[str, str] = field(default_factory=dict[str, str])
    unchanged: bool = False
    """The source says that nothing has changed since the cursor; then there are no entries here."""
    more: bool = False
    """The answer goes on: the same call with this cursor gets the next part."""
    complete: bool = False
    """With this the whole listing was told: an entry that did not come is there no more."""
    bad: tuple[BadEntry, ...] = ()
    warnings: tuple[str, ...] = ()
    """What is wrong with the answer, though it could be understood."""
    title: str = ""
    """What the listing calls itself; empty where the answer does not tell."""
    rest_s: float | None = None
    """How long the source asks to be left alone before the next look (TTL, Cache-Control)."""
    moved_to: str = ""
    """The listing's new key, where the source says that it has moved for good."""
    loose_keys: bool = False
    """Keys are what a publisher wrote: the same entry may come back under another one."""
    numbers_reset: bool | None = None
    """Whether chapter numbers begin anew with each volume; None where the answer does not tell."""


@dataclass(frozen=True)
class Swept:
    """What is new on a whole site since a cursor: a bulk head that brings the entries along."""

    entries: Mapping[str, tuple[Entry, ...]]
    """New and changed entries by the key of their listing, whether anybody follows it or not."""
    cursor: dict[str, str]
    more: bool = False
    """There is more to tell: the same call with this cursor goes on."""
    gap: bool = False
    """The site cannot tell everything since the cursor: each listing has to be polled by itself."""
    bad: Mapping[str, tuple[BadEntry, ...]] = field(default_factory=dict[str, "tuple[BadEntry, ...]"])
