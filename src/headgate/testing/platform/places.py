"""Accounts, listings and groups of the simulated platform."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from headgate.connectors.protocol import CallKind
from headgate.domain.listings.listings import Entry
from headgate.kernel.clock import utc_from_timestamp
from headgate.testing.content.seeds import derive
from headgate.testing.platform.errors import SimFlood

AccountState = Literal["active", "restricted", "logged_out", "banned"]
_MINUTE_S = 60.0
_LONG_AGO = utc_from_timestamp(0)


@dataclass
class SimAccount:
    """One login, and what the platform remembers of its recent calls."""

    name: str
    state: AccountState = "active"
    destroyed: bool = False
    """Its session was open in two places; only a new account helps."""
    shift: int = 0
    """Added to all positions that this account sees, where positions are per account."""
    recent_s: dict[str, deque[float]] = field(default_factory=dict[str, "deque[float]"])

    def count_call(self, kind: CallKind, *, limit_per_minute: float, now_s: float) -> None:
        """Count a call by the platform's real clock; signal a flood if there are too many."""
        recent = self.recent_s.setdefault(kind, deque())
        while recent and recent[0] <= now_s - _MINUTE_S:
            recent.popleft()
        if len(recent) >= limit_per_minute:
            raise SimFlood(recent[0] + _MINUTE_S - now_s)
        recent.append(now_s)


@dataclass(frozen=True)
class Upload:
    """A file that an account uploaded."""

    account: str
    name: str
    mime_type: str
    content: bytes
    uploaded_at: datetime


class GroupMessage(NamedTuple):
    """A message that arrived in a group."""

    key: str
    account: str
    send_key: str
    text: str
    media: str
    sent_at: datetime


@dataclass
class SimGroup:
    """A group to send to."""

    key: str
    title: str
    members: set[str] | None = None
    messages: list[GroupMessage] = field(default_factory=list[GroupMessage])

    def find(self, *, account: str, send_key: str) -> GroupMessage | None:
        """Return what this account sent under a key."""
        for message in reversed(self.messages):
            if message.send_key == send_key and message.account == account:
                return message
        return None


@dataclass(frozen=True)
class Chapters:
    """Entries that come by themselves: number n is published in the nth interval, at a time of its own."""

    seed: int
    since: datetime
    interval: timedelta

    def published_at(self, number: int) -> datetime:
        return self.since + self.interval * (number + derive(self.seed, number).uniform(0, 0.8))

    def newest(self, now: datetime, *, count: int) -> list[int]:
        """Return the numbers of the newest entries, newest first."""
        last = int((now - self.since) / self.interval)
        numbers = range(max(1, last - count), last + 1)
        return [n for n in reversed(numbers) if self.published_at(n) <= now][:count]


@dataclass
class Listing:
    """A feed, or a series on a manga site: it answers with its newest entries."""

    key: str
    title: str
    page_size: int = 20
    chapters: Chapters | None = None
    host: str = "example.org"
    posted: dict[str, Entry] = field(default_factory=dict[str, Entry])
    changed_at: dict[str, datetime] = field(default_factory=dict[str, datetime])
    """When each posted entry got its present form."""
    complete: bool = False
    """It answers with everything that it has, and says so."""

    def newest(self, now: datetime) -> tuple[Entry, ...]:
        """Return the newest entries, newest first; an entry that was posted again replaces its old self."""
        scheduled = {entry.key: entry for entry in self._scheduled(now)}
        entries = (scheduled | self.posted).values()
        ordered = sorted(entries, key=lambda e: (e.published_at or _LONG_AGO, e.key), reverse=True)
        return tuple(ordered[: self.page_size])

    def changed_since(self, since: datetime, now: datetime) -> list[tuple[datetime, Entry]]:
        """Return what is new or changed since a time, that time included, with when it changed."""
        scheduled = [(entry.published_at or _LONG_AGO, entry) for entry in self._scheduled(now)]
        posted = [(self.changed_at[key], entry) for key, entry in self.posted.items()]
        fresh = [(at, entry) for at, entry in scheduled if entry.key not in self.posted] + posted
        return [(at, entry) for at, entry in fresh if at >= since]

    def _scheduled(self, now: datetime) -> list[Entry]:
        if self.chapters is None:
            return []
        return [
            self._chapter(n, self.chapters.published_at(n))
            for n in self.chapters.newest(now, count=self.page_size)
        ]

    def _chapter(self, number: int, published_at: datetime) -> Entry:
        choices = derive(0, self.key, number)
        return Entry(
            key=f"{self.key}-{number}",
            title=f"{self.title}, chapter {number}",
            url=f"https://example.org/{self.key}/{number}",
            published_at=published_at,
            number=f"{number}.5" if choices.chance(0.05) else str(number),
            language=choices.choice(("en", "en", "en", "de", "fr")),
            group=choices.choice(("Inkwell Scans", "Tidewater", "Late Ferry")),
        )


def validators_of(entries: tuple[Entry, ...]) -> Mapping[str, str]:
    """Return what a conditional request would send back."""
    return {"etag": hashlib.sha256(repr(entries).encode()).hexdigest()[:24]}
