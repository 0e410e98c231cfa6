"""When a stream is checked and read: one pure decision with a named reason, which is stored and shown.

The rules in their order. A switch outranks everything, and a person's wish all the rest; a stream that cannot
be read is left alone until its breaker lets a probe through.

    disabled       the channel or its parent is switched off
    asked          a person wants it read, now
    breaker_open   it could not be read; the next try has its time
    never_scanned  nothing of it was ever read
    woken          something was heard of it, or became wanted
    recent_idle    a truly idle scan is only minutes ago
    cold           many idle scans in a row, and not its turn yet
    changed        there is something to read
    caught_up      everything up to the head is covered
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from headgate.domain.streams.schedule_knobs import Knobs

Tier = Literal["HOT", "WARM", "COLD"]
Reason = Literal[
    "asked",
    "disabled",
    "breaker_open",
    "never_scanned",
    "woken",
    "recent_idle",
    "cold",
    "changed",
    "caught_up",
    "head_unknown",
]
DueReason = Literal[
    "retry", "settling", "unheard", "reader_changed", "tier_changed", "clock_changed", "gave_up", "replayed"
]
"""Why a stream has its due time where no decision gave it one."""
Action = Literal["read", "check", "rest"]
Waiting = Literal["asked", "changed"]

JITTER = 0.1
RATE_OVER_H = 24.0
HOT_PER_H = 2.0
WARM_PER_H = 1 / 12


@dataclass(frozen=True)
class StreamFacts:
    """Where a stream stands, as far as the schedule cares."""

    enabled: bool
    waiting: Waiting | None
    """A scan waits for the head: because a person asked for it, or in the middle of a long reading."""
    scanned: bool
    """Something of it was read before."""
    woken: bool
    behind: bool
    """Something below the known head is not covered, and not waiting for another try."""
    fresh: bool
    """The head was really fetched just now."""
    idle_scans: int
    idle_at: datetime | None
    checked_at: datetime | None
    tier: Tier
    live: bool
    """A healthy listener hears of everything new."""
    breaker_until: datetime | None = None
    settling: bool = False
    """A person asked a moment ago; only now the head shows all that was posted before."""


@dataclass(frozen=True)
class Decision:
    """What to do with a stream now, why, and when to decide again if nothing is to be done."""

    action: Action
    reason: Reason
    due_at: datetime | None = None


def decide(facts: StreamFacts, *, now: datetime, knobs: Knobs) -> Decision:
    """Apply the rules in their order; `check` means: fetch the head, and decide again."""
    if not facts.enabled:
        return Decision("rest", "disabled")
    if facts.waiting is not None:
        return Decision("read" if facts.fresh else "check", facts.waiting)
    if facts.breaker_until is not None and facts.breaker_until > now:
        return Decision("rest", "breaker_open", facts.breaker_until)
    if not facts.scanned and not facts.fresh:
        return Decision("check", "never_scanned")
    if not facts.scanned and facts.behind:
        return Decision("read", "never_scanned")
    if facts.woken and facts.behind:
        return Decision("read", "woken")
    scheduled = not (facts.woken or facts.settling or facts.fresh)
    if scheduled and (waiting := _not_yet(facts, now=now, knobs=knobs)):
        return waiting
    if facts.behind:
        return Decision("read", "changed")
    if not facts.fresh:
        return Decision("check", "caught_up")
    return Decision("rest", "caught_up", now + timedelta(seconds=interval_s(facts, knobs)))


def interval_s(facts: StreamFacts, knobs: Knobs) -> float:
    """Return how long a stream rests when all is well."""
    if facts.live:
        return knobs.live_s
    tier_s = {"HOT": knobs.often_s, "WARM": knobs.normal_s, "COLD": knobs.rarely_s}[facts.tier]
    return tier_s * knobs.every_nth if facts.idle_scans >= knobs.idle_threshold else tier_s


def next_verify_s(
    verify_s: float, *, missed: bool, shortest_s: float, polling_s: float, longest_s: float
) -> float:
    """Return how long to gather hints before the next reading verifies them.

    After the first reading never less than polling would wait, so that a listener costs no more readings
    than having none; and twice as long each time while it misses nothing.
    """
    return min(max(polling_s, shortest_s, 0.0 if missed else 2 * verify_s), longest_s)


def _not_yet(facts: StreamFacts, *, now: datetime, knobs: Knobs) -> Decision | None:
    """Tell that a stream was made due too early, whatever made it so."""
    if facts.idle_at is not None:
        left_s = knobs.skip_window_s - _age_s(facts.idle_at, now)
        if left_s > 0:
            return Decision("rest", "recent_idle", now + timedelta(seconds=left_s))
    if facts.idle_scans >= knobs.idle_threshold and facts.checked_at is not None and not facts.live:
        # A due time is jittered, and an early one is not too early.
        left_s = interval_s(facts, knobs) * (1 - JITTER) - _age_s(facts.checked_at, now)
        if left_s > 0:
            return Decision("rest", "cold", now + timedelta(seconds=left_s))
    return None


def _age_s(at: datetime, now: datetime) -> float:
    """Return how long ago something was; a clock that was set back makes nothing younger than now."""
    return max(0.0, (now - at).total_seconds())


def decayed_rate(rate: float, *, rated_at: datetime | None, now: datetime) -> float:
    """Return messages an hour as they count now: what is a day old counts for a third."""
    hours = 0.0 if rated_at is None else _age_s(rated_at, now) / 3600
    return rate * math.exp(-hours / RATE_OVER_H)


def raised_rate(rate: float, *, arrivals: int, rated_at: datetime | None, now: datetime) -> float:
    """Return the rate with messages that have come since."""
    return decayed_rate(rate, rated_at=rated_at, now=now) + arrivals / RATE_OVER_H


def stream_tier(rate: float) -> Tier:
    """Return the tier of a stream by its messages an hour."""
    if rate >= HOT_PER_H:
        return "HOT"
    return "WARM" if rate >= WARM_PER_H else "COLD"
