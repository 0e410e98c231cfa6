"""Listings in plain words: how often one is checked and why, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from headgate.domain.breaker import Breaker, state_of
from headgate.domain.streams.schedule import Tier
from headgate.domain.streams.schedule_knobs import Knobs

HealthKind = Literal["good", "new", "warn", "bad", "off"]
Trouble = Literal["gone", "limited", "partial", "blind", "paced"]
"""Gone for good, asked to wait, read only in part, with a server that hides changes, or kept waiting."""


@dataclass(frozen=True)
class TroubleWords:
    """A problem with some feeds and series, and how to fix it."""

    finding: str
    remedy: str
    command: str = ""
    """The command that helps; only the CLI shows it."""


TROUBLES: dict[Trouble, TroubleWords] = {
    "gone": TroubleWords(
        "Gone for good (410): {feeds}.", "Remove them, or check them once more.", "headgate feed remove"
    ),
    "limited": TroubleWords(
        "Their sites asked us to wait: {feeds}.",
        "They are checked again automatically, within a day.",
        "headgate hosts",
    ),
    "partial": TroubleWords(
        "Read only in part: {feeds}.",
        "See what is missing and which setting helps.",
        "headgate explain",
    ),
    "blind": TroubleWords(
        "Their servers report “not changed” although there are new entries: {feeds}.",
        "They are now fetched in full each time, so nothing is lost. Tell the people who run them.",
    ),
    "paced": TroubleWords(
        "Waiting for more than ten minutes because of the pace of their site: {feeds}.",
        "Raise the pace if the site allows it.",
        "headgate hosts pace SITE N",
    ),
}

_REASONS = {
    "disabled": "it is switched off",
    "asked": "a person asked for it",
    "gone": "the site reports it as gone for good",
    "no_reader": "no account can read it at the moment",
    "host_open": "its site does not answer and is retried later",
    "breaker_open": "reading it failed; it is retried later",
    "resting": "its site asked us to wait",
    "never_polled": "it was never checked",
    "due": "it is due",
    "interval": "it is due",
    "expected": "something new is expected then",
    "source_rest": "its site asked us to wait until then",
    "failing": "the last check failed",
    "failed": "the last check failed",
    "paced": "other sources of its site are checked first, at the pace of the site",
    "limited": "its site asked us to wait, a day at most",
}


_TIER_REASONS = {
    "new": "Not enough is known yet about when it publishes.",
    "burst": "It published several times within a day.",
    "daily_due": "It publishes about every day, and the next one is expected about now.",
    "daily_resting": "It publishes about every day, and the next one is not due yet.",
    "weekly_due": "It publishes at regular times, and the next one is expected about now.",
    "weekly_resting": "It publishes at regular times, and the next one is not due yet.",
    "late": "The next one is late.",
    "irregular": "It publishes often, at no regular time.",
    "slow_due": "It rarely publishes, and the next one is expected about now.",
    "slow": "It rarely publishes.",
    "silent": "It has published nothing for months.",
}


@dataclass(frozen=True)
class ListingHealth:
    """What shows whether a source works."""

    enabled: bool
    gone: bool
    looked: bool
    """It was read at least once."""
    watch: Breaker
    host: Breaker
    limited_until: datetime | None = None
    """Its site asked us to wait until then."""
    has_reader: bool = True
    error: str = ""
    host_error: str = ""
    warning: str = ""
    """What is wrong with answers that can be read."""
    moved_onto: str = ""
    """The title of another listing whose address it moved to."""
    changes_keys: bool = False
    """Its entries keep coming under other keys."""


@dataclass(frozen=True)
class Health:
    """Whether a listing works: a word for it, and a sentence if there is something to say."""

    kind: HealthKind
    word: str
    text: str = ""
    until: datetime | None = None
    """When it is retried, if it waits."""
    error: str = ""
    """What the last failed try said."""
    notes: tuple[str, ...] = ()
    """What else a person should know; a listing that works can have some, too."""


def frequency_reason_text(reason: str, *, pinned: bool = False) -> str:
    """Say why a listing is checked as often as it is; empty while that is not known."""
    return "A person chose this." if pinned else _TIER_REASONS.get(reason, "")


def check_reason_text(reason: str) -> str:
    """Say why a listing is checked then, or not at all; an unknown reason says itself."""
    return _REASONS.get(reason, reason.replace("_", " "))


def interval_text(seconds: float) -> str:
    """Say how often, roughly: every 5 minutes, every 4 hours, once a day."""
    minutes = round(seconds / 60)
    if minutes < 2:
        return "every minute"
    if minutes < 120:
        return "once an hour" if minutes == 60 else f"every {minutes} minutes"
    hours = round(minutes / 60)
    if hours < 48:
        return "once a day" if hours == 24 else f"every {hours} hours"
    return f"every {round(hours / 24)} days"


def frequency_sentence(
    tier: Tier, reason: str, *, knobs: Knobs, pinned: bool = False, swept: bool = False
) -> str:
    """Say how often a listing is checked, and why."""
    if swept:
        return "One check of its site covers all its series, so it is not checked on its own."
    often = interval_text({"HOT": knobs.often_s, "WARM": knobs.normal_s, "COLD": knobs.rarely_s}[tier])
    why = frequency_reason_text(reason, pinned=pinned)
    return f"Checked {often}, because {why[:1].lower()}{why[1:]}" if why else f"Checked {often}."


def breaker_text(breaker: Breaker, *, now: datetime, subject: str = "It") -> str:
    """Say what failed and when it is retried; nothing if all is fine."""
    if not breaker.failures:
        return ""
    times = "once" if breaker.failures == 1 else f"{breaker.failures} times in a row"
    state = state_of(breaker, now=now)
    if state == "closed":
        return f"{subject} failed {times} and is retried as usual."
    if state == "open":
        return f"{subject} failed {times} and rests for a while; then one try decides."
    return f"{subject} failed {times}; the next try decides whether it works again."


def health_of(facts: ListingHealth, *, now: datetime) -> Health:
    """Return the first thing that is wrong with a listing, or that nothing is; and what else to know."""
    return replace(_first_trouble(facts, now), notes=tuple(_notes(facts)))


def _first_trouble(facts: ListingHealth, now: datetime) -> Health:
    if not facts.enabled:
        return Health("off", "switched off", "It is switched off and not checked.")
    if facts.gone:
        return Health("bad", "gone", "The site reports it as gone for good. Check it now to try again.")
    if not facts.has_reader:
        return Health("bad", "no account", "No account can read it at the moment.")
    if state_of(facts.host, now=now) == "open":
        text = breaker_text(facts.host, now=now, subject="Its site")
        return Health("bad", "site away", text, facts.host.open_until, facts.host_error)
    if facts.limited_until is not None and facts.limited_until > now:
        text = "Its site asked us to wait (429), a day at most."
        return Health("warn", "asked to wait", text, facts.limited_until)
    if facts.watch.failures:
        is_open = state_of(facts.watch, now=now) == "open"
        text = breaker_text(facts.watch, now=now)
        until = facts.watch.open_until if is_open else None
        return Health("bad" if is_open else "warn", "failing", text, until, facts.error)
    if facts.host.failures:
        text = breaker_text(facts.host, now=now, subject="Its site")
        return Health("warn", "site failing", text, error=facts.host_error)
    return Health("good", "OK") if facts.looked else Health("new", "not read yet")


def _notes(facts: ListingHealth) -> Iterator[str]:
    if facts.warning:
        yield f"It works, with a warning: {facts.warning}"
    if facts.moved_onto:
        yield (f"It moved to the address of {facts.moved_onto}, which belongs to another series. Remove one.")
    elif facts.changes_keys:
        yield "It keeps changing the IDs of its entries; Headgate recognises them by link and title."


def chapter_text(number: str, *, title: str, volume: str, source: str) -> str:
    """Say which chapter is new, and who brings it."""
    name = f"Chapter {number}" if number else title or "New chapter"
    if number and title:
        name = f"{name}: {title}"
    return " · ".join(filter(None, [name, f"Vol. {volume}" if volume else "", source]))
