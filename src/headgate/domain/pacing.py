"""The rules of a lane, as pure functions of its state and the time.

A lane is a GCRA rate limit. Its state is the *theoretical arrival time* (`tat_s`): each call pushes it one
interval on, and a call may come at most the tolerance before it. A call is made at the time of its permit or
up to the grace later, never after.

The bound. Let T be the shortest interval in force (60 s / rate), b the burst, W any span of time. The
tolerance and the grace together are (b - 1) intervals *of the ceiling*, so at most (b - 1) T. Of n permits
whose calls fall into W, take the one that was granted first and the one that was granted last. Their times
lie at most W + grace apart, since a call is late by the grace at most. But the n - 1 grants before the last
pushed the arrival time on by (n - 1) T, and the last came no earlier than the tolerance before that, so
(n - 1) T <= W + grace + tolerance <= W + (b - 1) T. Hence n <= W / T + b: never more than the rate times the
span, plus the burst. The order of the calls, restarts and slower rates in between do not matter.

`lane_take` does the same in the database; a test compares the two. Times are in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import Literal

from headgate.domain.errors import RateLimited, Transient

HORIZON_S = 5.0
"""How far ahead permits reach, and so the longest that a slot is held while waiting for one."""
MAX_GRACE_S = 2.0
MIN_PER_MINUTE = 1.0
WARM_FROM_PER_MINUTE = 10.0
WARM_PART_PER_DAY = 0.25
DAY_S = 86_400.0
RECOVERED_PART = 0.1
RECOVERY_S = 600.0
USE_SLOT_S = 900
USE_SLOTS = 98
"""A day has 96 slots. One more, because a slot is counted whole while only its end is of the last day; and
one because a permit is used up to 7 s after it was counted."""

Cause = Literal["created", "limit_signal", "recovered", "warmed_up", "adjusted", "settings"]
Refusal = Literal["early", "late", "outdated", "closed", "spent"]


class ComeBackLater(RateLimited):
    """Our own pace has no room for the call within the next seconds; go on at the permitted time."""

    def __init__(self, delay_s: float) -> None:
        super().__init__(f"the lane has room in {delay_s:.1f} s", retry_after_s=delay_s)
        self.delay_s = delay_s


class PermitVoid(Transient):
    """The permit may not be used (any more); take a new one."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"the permit is void: {refusal}")
        self.refusal: Refusal = refusal


class UnknownLane(Transient):
    """No lane was set up for this owner and kind of call."""


@dataclass(frozen=True)
class ComeBack:
    """Nothing was granted and nothing consumed; there is room after the delay."""

    delay_s: float


@dataclass(frozen=True)
class Pace:
    """What a person or a connector sets of a lane."""

    per_minute: float
    burst: int = 3
    daily_cap: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.per_minute <= 60_000_000:
            raise ValueError("calls per minute must be above 0")
        if self.burst < 2:
            raise ValueError("a burst must be 2 at least: the room for a call that comes a moment late")
        if self.daily_cap is not None and self.daily_cap < 1:
            raise ValueError("a daily cap must be 1 at least")

    @property
    def _slack_s(self) -> float:
        return 60.0 * (self.burst - 1) / self.per_minute

    @property
    def grace_s(self) -> float:
        """How late a permit may be used: half of the slack that the burst gives, 2 s at most."""
        return min(MAX_GRACE_S, self._slack_s / 2)

    @property
    def tolerance_s(self) -> float:
        """How early a call may come: the rest of the slack."""
        return self._slack_s - self.grace_s


@dataclass(frozen=True)
class LanePlan:
    """A lane that an owner should have; `shared` names another one that its calls draw on as well."""

    kind: str
    pace: Pace
    shared: str | None = None
    by_day: bool = True
    """Its calls are counted by day, for people to see."""


def warm_limit(pace: Pace, *, established: bool, warm_days: int) -> float:
    """Return the highest rate that an account's age allows: 10 a minute, a quarter of the ceiling more a day.

    A warm day is one that began and ended with a call, 24 hours apart, without a limit signal in between.
    """
    if established:
        return pace.per_minute
    return min(pace.per_minute, WARM_FROM_PER_MINUTE + WARM_PART_PER_DAY * pace.per_minute * warm_days)


def recovered_rate(rate: float, *, limit: float, ceiling: float, quiet_s: float) -> float:
    """Return the rate after quiet time: a tenth of the ceiling comes back every ten minutes."""
    return min(limit, rate + RECOVERED_PART * ceiling * floor(max(quiet_s, 0.0) / RECOVERY_S))


def slowed_rate(rate: float, *, ceiling: float) -> float:
    """Return the rate after a limit signal: half of it, but never so low that the lane stands still."""
    return max(min(MIN_PER_MINUTE, ceiling), rate / 2)


@dataclass(frozen=True)
class LaneState:
    """All that a lane remembers."""

    pace: Pace
    established: bool
    rate: float
    rate_at_s: float
    tat_s: float
    cool_until_s: float
    use_slot: int
    uses: tuple[int, ...] = (0,) * USE_SLOTS
    epoch: int = 1
    rate_epoch: int = 1
    warm_days: int = 0
    warm_at_s: float | None = None

    @classmethod
    def created(cls, pace: Pace, *, established: bool, at_s: float) -> LaneState:
        return cls(
            pace=pace,
            established=established,
            rate=warm_limit(pace, established=established, warm_days=0),
            rate_at_s=at_s,
            tat_s=at_s,
            cool_until_s=at_s,
            use_slot=floor(at_s / USE_SLOT_S),
        )

    def slowed(self, share: float) -> LaneState:
        """Return the lane of an account that can send for a share of the time only."""
        pace = replace(self.pace, per_minute=self.pace.per_minute * share)
        return self if share >= 1 else replace(self, pace=pace, rate=self.rate * share)

    @property
    def limit(self) -> float:
        return warm_limit(self.pace, established=self.established, warm_days=self.warm_days)

    @property
    def interval_s(self) -> float:
        return 60.0 / self.rate

    @property
    def calls_left(self) -> int | None:
        return None if self.pace.daily_cap is None else self.pace.daily_cap - sum(self.uses)

    def brought_to(self, at_s: float) -> LaneState:
        """Return the state as it stands at a time: warmed up, recovered, old uses forgotten."""
        day_passed = self.warm_at_s is not None and at_s >= self.warm_at_s + DAY_S
        warm_days = self.warm_days + day_passed
        limit = warm_limit(self.pace, established=self.established, warm_days=warm_days)
        ceiling = self.pace.per_minute
        quiet_s = at_s - self.rate_at_s
        rate = recovered_rate(self.rate, limit=limit, ceiling=ceiling, quiet_s=quiet_s)
        later = min(max(floor(at_s / USE_SLOT_S) - self.use_slot, 0), USE_SLOTS)
        # A clock that was put back must not stop the lane for longer than honest grants could have.
        furthest_s = at_s + HORIZON_S + MAX_GRACE_S + self.pace.tolerance_s + 60.0 / rate
        return replace(
            self,
            rate=rate,
            rate_at_s=self.rate_at_s if rate == self.rate else at_s,
            tat_s=min(self.tat_s, furthest_s),
            warm_days=warm_days,
            warm_at_s=at_s if day_passed or self.warm_at_s is None else self.warm_at_s,
            use_slot=max(self.use_slot, floor(at_s / USE_SLOT_S)),
            uses=self.uses[later:] + (0,) * later,
        )

    def opens_at_s(self, at_s: float) -> float:
        """Return when the cool-down and the daily cap allow the next call."""
        opens_at_s = max(at_s, self.cool_until_s)
        left = self.calls_left
        if left is None or left > 0:
            return opens_at_s
        freed = 0
        for place, uses in enumerate(self.uses, start=1):
            freed += uses
            if freed + left > 0:
                return max(opens_at_s, float((self.use_slot + place) * USE_SLOT_S))
        return opens_at_s

    def used(self, *, tat_s: float, calls: int) -> LaneState:
        return replace(self, tat_s=tat_s, uses=(*self.uses[:-1], self.uses[-1] + calls))

    def limited(self, at_s: float, *, retry_after_s: float, epoch: int) -> LaneState:
        """Return the state after a limit signal for a call that was granted in an epoch."""
        cool_until_s = max(self.cool_until_s, at_s + retry_after_s)
        if epoch < self.rate_epoch:
            if cool_until_s <= self.cool_until_s:
                return self
            return replace(self, cool_until_s=cool_until_s, epoch=self.epoch + 1, warm_at_s=None)
        return replace(
            self,
            rate=slowed_rate(self.rate, ceiling=self.pace.per_minute),
            rate_at_s=at_s,
            cool_until_s=cool_until_s,
            epoch=self.epoch + 1,
            rate_epoch=self.epoch + 1,
            warm_at_s=None,
        )

    def adjusted(self, at_s: float, *, pace: Pace, established: bool) -> LaneState:
        """Return the state under new settings.

        A new pace starts without an allowance when the last permit of the old one is void, so that the two
        never add up. A lane that was slowed stays slowed.
        """
        limit = warm_limit(pace, established=established, warm_days=self.warm_days)
        rate = min(self.rate, limit) if self.rate < self.limit else limit
        repaced = (pace.per_minute, pace.burst) != (self.pace.per_minute, self.pace.burst)
        changed = replace(
            self,
            pace=pace,
            established=established,
            rate=rate,
            rate_at_s=at_s if repaced or rate != self.rate else self.rate_at_s,
        )
        if not repaced:
            return changed
        stock_ends_at_s = max(at_s, min(self.tat_s, at_s + HORIZON_S) + self.pace.grace_s)
        tat_s = stock_ends_at_s + pace.tolerance_s + changed.interval_s
        return replace(changed, tat_s=tat_s, epoch=self.epoch + 1, rate_epoch=self.epoch + 1)


@dataclass(frozen=True)
class Grant:
    """The times of the calls that were granted, or else when to come back."""

    times_s: tuple[float, ...]
    come_back_at_s: float | None
    lanes: tuple[LaneState, ...]


def grant_permits(
    lanes: Sequence[LaneState], *, count: int, at_s: float, horizon_s: float = HORIZON_S
) -> Grant:
    """Grant as many of the calls as all their lanes have room for within the horizon."""
    ready = [lane.brought_to(at_s) for lane in lanes]
    opens_at_s = max(lane.opens_at_s(at_s) for lane in ready)
    calls_left = min((lane.calls_left for lane in ready if lane.calls_left is not None), default=count)
    tats_s = [lane.tat_s for lane in ready]
    times_s: list[float] = []
    time_s = _next_time_s(ready, tats_s, opens_at_s)
    while time_s <= at_s + horizon_s and len(times_s) < min(count, calls_left):
        times_s.append(time_s)
        tats_s = [max(tat_s, time_s) + lane.interval_s for lane, tat_s in zip(ready, tats_s, strict=True)]
        time_s = _next_time_s(ready, tats_s, opens_at_s)
    if not times_s:
        return Grant((), time_s, tuple(lanes))
    used = (lane.used(tat_s=tat_s, calls=len(times_s)) for lane, tat_s in zip(ready, tats_s, strict=True))
    return Grant(tuple(times_s), None, tuple(used))


def _next_time_s(lanes: Sequence[LaneState], tats_s: Sequence[float], opens_at_s: float) -> float:
    pairs = zip(lanes, tats_s, strict=True)
    return max(opens_at_s, *(tat_s - lane.pace.tolerance_s for lane, tat_s in pairs))


@dataclass
class Permit:
    """Leave to make one call. Its times are on the monotonic clock of the process that took it."""

    owner: str
    kind: str
    epochs: Mapping[str, int]
    """The lanes that it was drawn from, each with its epoch."""
    due_at_s: float
    void_at_s: float
    closes_at_s: float | None = None
    spent: bool = False


def refuse(permit: Permit, *, at_s: float, epochs: Mapping[str, int]) -> Refusal | None:
    """Tell why a permit may not be used now, or nothing; `epochs` are the newest that are known."""
    if permit.spent:
        return "spent"
    if at_s < permit.due_at_s:
        return "early"
    if at_s > permit.void_at_s:
        return "late"
    if permit.closes_at_s is not None and at_s >= permit.closes_at_s:
        return "closed"
    if any(epochs.get(kind, 0) > epoch for kind, epoch in permit.epochs.items()):
        return "outdated"
    return None
