"""A breaker: what keeps failing is left alone for growing times, then probed once.

Closed: all is well, or has failed a few times. Open: nothing is tried. Half open: the time is over, and the
next try decides. One failure is one failed try, however often it was repeated inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

OPEN_AFTER = 5
FIRST_OPEN_S = 300.0
MAX_OPEN_S = 86_400.0
FACTOR = 2.0

BreakerState = Literal["closed", "open", "half_open"]


@dataclass(frozen=True)
class Breaker:
    """Failures since the last success, how often it opened, and until when it is open."""

    failures: int = 0
    opened: int = 0
    open_until: datetime | None = None


def state_of(breaker: Breaker, *, now: datetime) -> BreakerState:
    if breaker.open_until is None:
        return "closed"
    return "open" if breaker.open_until > now else "half_open"


def fail(breaker: Breaker, *, now: datetime, at_once: bool = False, longest_s: float = MAX_OPEN_S) -> Breaker:
    """Count a failure; the breaker opens after a few, after a probe, and at once where trying cannot help."""
    failures = breaker.failures + 1
    if failures < OPEN_AFTER and not at_once and breaker.opened == 0:
        return Breaker(failures)
    open_s = min(FIRST_OPEN_S * FACTOR ** min(breaker.opened, 20), longest_s)
    return Breaker(failures, breaker.opened + 1, now + timedelta(seconds=open_s))
