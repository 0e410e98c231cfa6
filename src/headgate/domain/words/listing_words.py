"""How a listing stands, in plain words: how often it is looked at and why, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from headgate.domain.breaker import Breaker, state_of
from headgate.domain.listings.rhythm import tier_text
from headgate.domain.streams.schedule import Tier
from headgate.domain.streams.schedule_knobs import Knobs

PINNED = "pinned"
HealthKind = Literal["good", "new", "warn", "bad", "off"]
Trouble = Literal["gone", "limited", "partial", "blind", "paced"]
"""Gone for good, told to wait, not read whole, with a server that hides news, or in a long line."""

TROUBLES: dict[Trouble, tuple[str, str]] = {
    "gone": (
        "Gone for good (410): {feeds}.",
        "Remove what is gone with `headgate feed remove`, or check it once more with `headgate series look`.",
    ),
    "limited": (
        "Their servers asked us to wait: {feeds}.",
        "Those that wait are checked again by themselves, after a day at most; `headgate hosts` says when.",
    ),
    "partial": (
        "Not read whole: {feeds}.",
        "`headgate explain` says what is missing of a feed, and which setting helps.",
    ),
    "blind": (
        "Their servers said that nothing had changed although something had: {feeds}.",
        "They are fetched whole each time, so nothing is missed; tell the people who run them.",
    ),
    "paced": (
        "Waiting for more than ten minutes, because their site is not asked faster: {feeds}.",
        "Raise the pace of a site that allows it with `headgate hosts pace SITE N`.",
    ),
}
"""What is wrong with feeds and series, and what helps."""

_REASONS = {
    "disabled": "it is switched off",
    "asked": "somebody asked for it",
    "gone": "the source says that it is gone for good",
    "no_reader": "no account can look at it at the moment",
    "host_open": "its site does not answer and is left alone for a while",
    "breaker_open": "it could not be read and is left alone for a while",
    "resting": "the source asked to be left alone for a while",
    "never_polled": "it was never looked at",
    "due": "it is its time",
    "interval": "it is its time",
    "expected": "something new is expected then",
    "source_rest": "the source asked to be left alone until then",
    "failing": "the last look failed",
    "failed": "the last look failed",
    "paced": "its site is asked no faster, and others of it are before",
    "limited": "its site asked us to wait, and is waited for a day at most",
}


@dataclass(frozen=True)
class Standing:
    """What tells whether a listing is well."""

    enabled: bool
    gone: bool
    looked: bool
    """It was read at least once."""
    watch: Breaker
    host: Breaker
    limited_until: datetime | None = None
    """Its site asked us to wait until then."""
    has_reader: bool = True


@dataclass(frozen=True)
class Health:
    """Whether a listing is well: a word for it, and a sentence if something is to be said."""

    kind: HealthKind
    word: str
    text: str = ""
    until: datetime | None = None
    """When it is tried again, if it is left alone."""


def tier_word(tier: str) -> str:
    """Return what a tier means."""
    return {"HOT": "often", "WARM": "now and then", "COLD": "seldom"}.get(tier, tier)


def look_reason_text(reason: str) -> str:
    """Say why a listing is looked at then, or not at all; an unknown reason says itself."""
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


def tier_sentence(tier: Tier, reason: str, *, knobs: Knobs, swept: bool = False) -> str:
    """Say how often a listing is looked at, and why."""
    if swept:
        return "Its site tells what is new in all its series at once, so it is not asked by itself."
    often = interval_text({"HOT": knobs.hot_s, "WARM": knobs.warm_s, "COLD": knobs.cold_s}[tier])
    why = "a person chose so." if reason == PINNED else tier_text(reason)
    return f"Looked at {often}, because {why[:1].lower()}{why[1:]}" if why else f"Looked at {often}."


def breaker_text(breaker: Breaker, *, now: datetime, subject: str = "It") -> str:
    """Say what a breaker is about; nothing where all is well."""
    if not breaker.failures:
        return ""
    times = "once" if breaker.failures == 1 else f"{breaker.failures} times in a row"
    state = state_of(breaker, now=now)
    if state == "closed":
        return f"{subject} failed {times} and is tried again as usual."
    if state == "open":
        return f"{subject} failed {times} and is left alone for a while; then one try decides."
    return f"{subject} failed {times}; the next try decides whether it is well again."


def health_of(standing: Standing, *, now: datetime) -> Health:
    """Tell the first thing that is wrong with a listing, or that nothing is."""
    if not standing.enabled:
        return Health("off", "switched off", "It is switched off and not looked at.")
    if standing.gone:
        return Health("bad", "gone", "The source says that it is gone for good. Look now to ask once more.")
    if not standing.has_reader:
        return Health("bad", "no account", "No account can read it at the moment.")
    if state_of(standing.host, now=now) == "open":
        text = breaker_text(standing.host, now=now, subject="Its site")
        return Health("bad", "site away", text, standing.host.open_until)
    if standing.limited_until is not None and standing.limited_until > now:
        return Health(
            "warn",
            "asked to wait",
            "Its site asked us to wait (429), for a day at most.",
            standing.limited_until,
        )
    if standing.watch.failures:
        is_open = state_of(standing.watch, now=now) == "open"
        text = breaker_text(standing.watch, now=now)
        until = standing.watch.open_until if is_open else None
        return Health("bad" if is_open else "warn", "failing", text, until)
    if standing.host.failures:
        return Health("warn", "site failing", breaker_text(standing.host, now=now, subject="Its site"))
    if not standing.looked:
        return Health("new", "not read yet")
    return Health("good", "OK")
