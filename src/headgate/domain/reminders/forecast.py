"""What will become of a run: when it ends, whom it does not reach, and what would help.

The forecast steps the account's lane from its real state, together with the other runs that draw on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from functools import partial
from typing import Literal

from headgate.domain.pacing import LaneState
from headgate.domain.reminders.lane_steps import Drawer, LaneClock, LaneSteps
from headgate.domain.reminders.windows import DAY_MINUTES, Window, minute_text
from headgate.domain.wall_time import find_zone, wall_of

HORIZON = timedelta(days=60)
"""The forecast stops here; no real run takes longer."""
ROUND_MINUTES = 5
SPARE_PART = 0.02
"""What an advised window has to spare, because no sender is as quick as its lane to the second."""

AtClose = Literal["stop", "carry"]


@dataclass(frozen=True)
class PlannedRun:
    """The run that is asked about. Its messages are those of all parts for all targets."""

    messages: int
    parts_per_target: int
    window: Window
    at_close: AtClose
    starts_at: datetime

    @property
    def targets(self) -> int:
        return -(-self.messages // self.parts_per_target)


@dataclass(frozen=True)
class Queued:
    """Another run of the account that has messages left to send."""

    messages: int
    window: Window
    at_close: AtClose


@dataclass(frozen=True)
class Forecast:
    """How a run will go, by the pace and the queue of its account."""

    opens_at: datetime
    """When the run may begin: its start, or when its window opens."""
    begins_at: datetime | None
    """When its first message is sent, after what others have queued."""
    ends_at: datetime | None
    """When its last message is sent or its window closes on it; None: not within 60 days."""
    targets_reached: int
    targets_unreached: int
    saturated_until_close: bool = False
    """Its window closes on it while the lane has no room to spare."""
    daily_cap_reached: bool = False
    carried_windows: int = 0
    """In how many further windows it goes on."""
    wider_end: int | None = None
    """The end of a window within the day in which it would reach everybody at once, in minutes."""
    accounts_at_once: int = 0
    """So many accounts send now and take turns, because there are fewer slots; 0 if there are enough."""
    carried_ends_at: datetime | None = None
    """When it would end if it went on in further windows; only for one that stops and has some left."""


def forecast(
    lane: LaneState,
    *,
    now: datetime,
    mine: PlannedRun,
    others: Sequence[Queued],
    pace_of_clock: float = 1.0,
    lane_now_s: float | None = None,
) -> Forecast:
    """Step the lane until the run has ended.

    The product's clock may be quicker than the lane's, by `pace_of_clock`; `lane_now_s` is what the lane's
    shows now, if that is another time than the product's. Others wait already, and have their turn first.
    """
    now_s = now.timestamp() if lane_now_s is None else lane_now_s
    line = LaneClock(now, now_s, pace_of_clock)
    follow = partial(_follow, lane, line, others=others)
    run = follow(mine, at_close=mine.at_close)
    reached = run.sent // mine.parts_per_target if run.left else mine.targets
    starts_at = max(now, mine.starts_at)
    return Forecast(
        opens_at=max(starts_at, mine.window.stretch(starts_at).opens_at),
        begins_at=None if run.first_s is None else line.moment(run.first_s),
        ends_at=run.closes_at if run.over else run.ends_at,
        targets_reached=reached,
        targets_unreached=mine.targets - reached,
        saturated_until_close=run.crowded,
        daily_cap_reached=run.capped,
        carried_windows=run.carried,
        wider_end=_wider_end(mine, follow) if run.over or run.carried else None,
        carried_ends_at=follow(mine, at_close="carry").ends_at if run.over else None,
    )


def advice(forecast: Forecast, plan: PlannedRun, other_accounts: Sequence[str]) -> list[str]:
    """Return what would help a run that does not reach everybody at once, a sentence each."""
    return list(_advise(forecast, plan, other_accounts))


def _follow(
    lane: LaneState, line: LaneClock, mine: PlannedRun, *, others: Sequence[Queued], at_close: AtClose | None
) -> Drawer:
    """Step until my run has ended; without `at_close` as if its window, once open, stayed open."""
    starts_at = max(line.now, mine.starts_at)
    stretch = mine.window.stretch(starts_at)
    run = Drawer(
        left=mine.messages,
        window=mine.window,
        carries=at_close == "carry",
        line=line,
        opens_at=max(starts_at, stretch.opens_at),
        closes_at=None if at_close is None else stretch.closes_at,
    )
    queue = [_queued(other, line) for other in others]
    LaneSteps(lane, line, [*queue, run]).follow(run, until=starts_at + HORIZON)
    return run


def _queued(other: Queued, line: LaneClock) -> Drawer:
    stretch = other.window.stretch(line.now)
    carries = other.at_close == "carry"
    return Drawer(other.messages, other.window, carries, line, stretch.opens_at, stretch.closes_at)


def _advise(forecast: Forecast, plan: PlannedRun, other_accounts: Sequence[str]) -> Iterator[str]:
    rest = forecast.targets_unreached
    if not rest and not forecast.carried_windows:
        return
    if forecast.wider_end is not None:
        at_once = "" if rest else " at once"
        yield f"A delivery window until {minute_text(forecast.wider_end)} would reach all groups{at_once}."
    if forecast.carried_ends_at is not None:
        last = wall_of(forecast.carried_ends_at, find_zone(plan.window.zone))
        yield (
            "Going on in the next window instead of stopping would reach the rest, "
            f"the last on {last:%Y-%m-%d} at {last:%H:%M}."
        )
    if rest and other_accounts:
        groups = "1 group" if rest == 1 else f"{rest} groups"
        yield f"The remaining {groups} can be sent from another account: {_either(other_accounts)}."


def _wider_end(mine: PlannedRun, follow: Callable[..., Drawer]) -> int | None:
    """Return the end of a window in which the run would be done at once, if there is one within the day."""
    unclosed = follow(mine, at_close=None)
    if unclosed.ends_at is None:
        return None
    end = _end_after(mine.window, opens_at=unclosed.opens_at, ends_at=unclosed.ends_at)
    if end is None:
        return None
    # A wider window may also open the run earlier, and close on it on that day; so it is tried.
    wider = replace(mine, window=replace(mine.window, end=end))
    return end if follow(wider, at_close="stop").left == 0 else None


def _end_after(window: Window, *, opens_at: datetime, ends_at: datetime) -> int | None:
    zone = find_zone(window.zone)
    opens, ends = wall_of(opens_at, zone), wall_of(ends_at, zone)
    midnight = datetime.combine(opens.date(), time())
    if window.start > window.end and opens < midnight + timedelta(minutes=window.start):
        midnight -= timedelta(days=1)
    needed = ends - midnight + SPARE_PART * (ends - opens)
    # The end is no part of a window, so the last message needs a later minute.
    minutes = needed // timedelta(minutes=1) + 1
    end = -(-minutes // ROUND_MINUTES) * ROUND_MINUTES
    if window.start < window.end:
        return end if window.end < end <= DAY_MINUTES else None
    return end - DAY_MINUTES if window.end < end - DAY_MINUTES < window.start else None


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
