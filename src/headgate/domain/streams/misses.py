"""When a failed message or sighting is retried, and when only a person can retry it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

MISS_CAP = 5
PAUSES_S = (60.0, 300.0, 1800.0, 7200.0, 28_800.0, 86_400.0)
"""The pause after each failed attempt; after more of them it stays at the last."""


@dataclass(frozen=True)
class Retry:
    """It is tried again by itself."""

    at: datetime


@dataclass(frozen=True)
class GiveUp:
    """So many attempts failed that only a person's retry tries it again."""

    attempts: int


def next_try(attempts: int, now: datetime, *, cap: int = MISS_CAP) -> Retry | GiveUp:
    """Decide after a failed attempt; `attempts` counts it."""
    if attempts >= cap:
        return GiveUp(attempts)
    pause_s = PAUSES_S[min(max(attempts, 1), len(PAUSES_S)) - 1]
    return Retry(now + timedelta(seconds=pause_s))


def list_tries(now: datetime, *, cap: int = MISS_CAP) -> list[datetime]:
    """Return the next try after 1, 2, 3 … failed attempts; where the list ends, it is given up.

    So a statement about many misses, each with its own number of attempts, needs no rule of its own.
    """
    decisions = [next_try(attempts, now, cap=cap) for attempts in range(1, cap)]
    return [decision.at for decision in decisions if isinstance(decision, Retry)]
