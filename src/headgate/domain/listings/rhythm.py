"""When to look at a listing: by the rhythm in which its own entries come.

Two series with one chapter a week cost the same by any count, though one always comes on Sunday at 17:00 and
the other at any time. Here the first rests all week and is looked at closely on Sundays.

    new             too little is known of it
    burst           several came within a day
    daily_due       it comes about every day, and now is its time
    daily_resting   it comes about every day, and the next is not due yet
    weekly_due      it comes every few days or weeks, and now is its time
    weekly_resting  likewise, and the next is not due yet
    late            the expected one did not come in its time
    irregular       it comes often, but at no time that could be foreseen
    slow_due        it seldom comes, and now is its time
    slow            it seldom comes
    silent          nothing came for months
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from statistics import median
from typing import Literal

from headgate.domain.streams.schedule import Tier
from headgate.domain.streams.schedule_knobs import Knobs

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
MAX_REST_S = DAY_S
"""A living listing is polled at least once a day, whatever its source asks."""
MAX_ARRIVALS = 20

_ONE_ARRIVAL = timedelta(hours=1)
"""What is published within this time came together."""
_AHEAD = timedelta(days=1)
"""So far a source's clock may be ahead of ours; a later time is of something not published yet."""
_MIN = 3
_PHASES = 8
"""A rhythm may change, so only so many of the newest arrivals tell the time of day or week."""
_SNAPS_S = (DAY_S, 7 * DAY_S, 14 * DAY_S)
_DAILY_S = 1.5 * DAY_S
_WEEKLY_S = 10 * DAY_S
_MAX_PERIOD_S = 45 * DAY_S
_YOUNG_S = 14 * DAY_S
_SILENT_S = 90 * DAY_S
_MISSED_PERIODS = 4

PollTiming = Literal["interval", "expected", "source_rest", "failing"]


@dataclass(frozen=True)
class Rhythm:
    """What the arrivals of a listing tell, as they are known now."""

    arrivals: tuple[datetime, ...]
    """Newest first; what came together is one, and none is in the future."""
    gap_s: float | None
    """The median time between two; None if there are too few."""
    period_s: float | None
    """The time from one to the next where it is regular."""
    phase_at: datetime | None
    """A time at which it usually comes, near the newest arrival."""
    spread_s: float
    """By how much it usually comes earlier or later."""

    @property
    def late_s(self) -> float:
        """How long after its time a release is looked for closely."""
        return min(12 * HOUR_S, (self.period_s or 0.0) / 8)

    @property
    def early_s(self) -> float:
        """How long before."""
        return min(2 * self.spread_s + 900.0, self.late_s)

    @classmethod
    def of(cls, arrivals: Sequence[datetime], *, now: datetime) -> Rhythm:
        """Read the rhythm out of the times at which the newest entries were published."""
        return cls._of(_apart(arrivals, now))

    @classmethod
    @lru_cache(maxsize=1024)
    def _of(cls, times: tuple[datetime, ...]) -> Rhythm:
        """Read it once for all who ask in a row: a poll asks twice."""
        if len(times) < _MIN:
            return cls(times, None, None, None, 0.0)
        gap_s = median(_seconds(times[i], times[i + 1]) for i in range(len(times) - 1))
        # A day or a week is the better guess, for the gaps vary; but not for what comes every six days.
        periods = [snap_s for snap_s in _SNAPS_S if abs(gap_s - snap_s) <= snap_s / 10]
        spread_s, period_s, middle_s = min(_fit(times, period_s) for period_s in (*periods, gap_s))
        if spread_s > period_s / 8 or period_s > _MAX_PERIOD_S:
            return cls(times, gap_s, None, None, spread_s)
        return cls(times, gap_s, period_s, times[0] + timedelta(seconds=middle_s), spread_s)

    def expected_next(self, *, now: datetime) -> datetime | None:
        """Return when the next one is expected; one that is a little late is expected still."""
        if self.period_s is None or self.phase_at is None:
            return None
        newest_s = _seconds(self.arrivals[0], self.phase_at)
        # The newest arrival fills the expected time nearest to it.
        after_newest = math.floor(newest_s / self.period_s + 0.5) + 1
        not_past = math.ceil((_seconds(now, self.phase_at) - self.late_s) / self.period_s)
        return self.phase_at + timedelta(seconds=self.period_s * max(after_newest, not_past))

    def is_due(self, *, now: datetime) -> bool:
        """Tell whether an expected release is to be looked for closely."""
        expected_at = self.expected_next(now=now)
        return expected_at is not None and now >= expected_at - timedelta(seconds=self.early_s)


@dataclass(frozen=True)
class NextPoll:
    """When to look again, and why then."""

    due_at: datetime
    reason: PollTiming


def expected_next(arrivals: Sequence[datetime], *, now: datetime) -> datetime | None:
    """Return when the next release is expected; None if that is unknown."""
    return Rhythm.of(arrivals, now=now).expected_next(now=now)


def merge_arrivals(known: Sequence[datetime], new: Sequence[datetime], *, now: datetime) -> list[datetime]:
    """Return when entries were published, newest first; what came together counts once."""
    apart: list[datetime] = []
    for at in sorted({*known, *(at for at in new if at <= now)}, reverse=True):
        if not apart or apart[-1] - at >= _ONE_ARRIVAL:
            apart.append(at)
        if len(apart) == MAX_ARRIVALS:
            break
    return apart


def listing_tier(arrivals: Sequence[datetime], *, now: datetime) -> tuple[Tier, str]:
    """Return how often a listing is worth a look, and why."""
    rhythm = Rhythm.of(arrivals, now=now)
    if not rhythm.arrivals:
        return "WARM", "new"
    age_s = _seconds(now, rhythm.arrivals[0])
    lately = sum(_seconds(now, at) < DAY_S for at in rhythm.arrivals)
    if lately >= _MIN:
        return "HOT", "burst"
    if rhythm.gap_s is None:
        return ("WARM", "new") if age_s <= _YOUNG_S else _seldom(age_s)
    if rhythm.period_s is not None and age_s <= _MISSED_PERIODS * rhythm.period_s:
        return _regular(rhythm, rhythm.period_s, now)
    if rhythm.gap_s <= _WEEKLY_S and age_s <= max(_MISSED_PERIODS * rhythm.gap_s, _YOUNG_S):
        return "WARM", "irregular"
    return _seldom(age_s)


def next_poll(
    *,
    tier: Tier,
    arrivals: Sequence[datetime],
    now: datetime,
    knobs: Knobs,
    rest_s: float | None,
    failing: bool = False,
    shortest_s: float = 300.0,
) -> NextPoll:
    """Return when to look next: in the tier's time, or when a release is expected if that is sooner."""
    tier_s = {"HOT": knobs.often_s, "WARM": knobs.normal_s, "COLD": knobs.rarely_s}[tier]
    asked_s = min(rest_s, MAX_REST_S) if rest_s is not None and rest_s > 0 else 0.0
    least_s = max(shortest_s, asked_s)
    wait_s = max(least_s, min(tier_s, MAX_REST_S))
    reason: PollTiming = "source_rest" if asked_s > max(shortest_s, tier_s) else "interval"
    if failing:
        return NextPoll(now + timedelta(seconds=wait_s), "failing")
    expected_at = expected_next(arrivals, now=now)
    expected_s = max(least_s, _seconds(expected_at, now)) if expected_at and expected_at > now else wait_s
    if expected_s < wait_s:
        wait_s, reason = expected_s, "expected"
    return NextPoll(now + timedelta(seconds=wait_s), reason)


def _regular(rhythm: Rhythm, period_s: float, now: datetime) -> tuple[Tier, str]:
    is_due = rhythm.is_due(now=now)
    if period_s > _WEEKLY_S:
        return ("WARM", "slow_due") if is_due else ("COLD", "slow")
    name = "daily" if period_s <= _DAILY_S else "weekly"
    if is_due:
        return "HOT", f"{name}_due"
    if _seconds(now, rhythm.arrivals[0]) > period_s * 1.5:
        return "WARM", "late"
    return ("WARM" if name == "daily" else "COLD"), f"{name}_resting"


def _seldom(age_s: float) -> tuple[Tier, str]:
    return "COLD", "silent" if age_s > _SILENT_S else "slow"


def _apart(arrivals: Sequence[datetime], now: datetime) -> tuple[datetime, ...]:
    """Return the arrivals newest first, what came together as one, and none in the future."""
    latest = now + _AHEAD
    known = sorted([min(at, now) for at in arrivals if at <= latest], reverse=True)
    times = list[datetime]()
    for at in known[:MAX_ARRIVALS]:
        if not times or times[-1] - at >= _ONE_ARRIVAL:
            times.append(at)
    return tuple(times)


def _seconds(later: datetime, earlier: datetime) -> float:
    return (later - earlier).total_seconds()


def _fit(times: Sequence[datetime], period_s: float) -> tuple[float, float, float]:
    """Return how far from a period the arrivals are, the period, and its time relative to the newest."""
    offsets = [_offset_s(_seconds(times[0], at), period_s) for at in times[:_PHASES]]
    middle_s = median(offsets)
    return median(abs(offset - middle_s) for offset in offsets), period_s, middle_s


def _offset_s(age_s: float, period_s: float) -> float:
    """Return by how much an arrival was after the newest one's time in the period; before is below zero."""
    return (-age_s + period_s / 2) % period_s - period_s / 2
