"""Runs that draw on one lane, stepped through ahead of time.

The lane is the real one's state, and its rules are applied as they are (see `pacing`). Only the steps are
large: while its rate stays the same and no window opens or closes, calls come at even distances, and so a
million of them cost no more than one. Runs whose windows are open take turns, a batch of messages each.
Times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil, floor, inf

from headgate.domain.pacing import DAY_S, RECOVERY_S, USE_SLOT_S, LaneState
from headgate.domain.reminders.windows import Window

BATCH = 20


@dataclass(frozen=True)
class LaneClock:
    """Two clocks: the lane's, in seconds of real time, and the product's, which may be quicker."""

    now: datetime
    now_s: float
    speed: float = 1.0

    def seconds(self, at: datetime) -> float:
        return self.now_s + (at - self.now).total_seconds() / self.speed

    def moment(self, at_s: float) -> datetime:
        return self.now + timedelta(seconds=(at_s - self.now_s) * self.speed)


@dataclass(eq=False)
class Drawer:
    """One run: what it has left to send, and the stretch of its window that is open or will be next."""

    left: int
    window: Window
    carries: bool
    line: LaneClock
    opens_at: datetime
    closes_at: datetime | None
    batch_left: int = BATCH
    sent: int = 0
    carried: int = 0
    first_s: float | None = None
    last_s: float | None = None
    over: bool = False
    """Its window has closed, and it does not go on."""
    crowded: bool = False
    """Its window closed while the lane had no room to spare."""
    capped: bool = False
    """It had to wait because the day's calls were used up."""
    opens_s: float = field(init=False)
    closes_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.opens_s = self.line.seconds(self.opens_at)
        self.closes_s = inf if self.closes_at is None else self.line.seconds(self.closes_at)

    @property
    def live(self) -> bool:
        return self.left > 0 and not self.over

    @property
    def ends_at(self) -> datetime | None:
        """When it has sent everything; None if it has not."""
        if self.left:
            return None
        return self.opens_at if self.last_s is None else self.line.moment(self.last_s)

    def close(self) -> None:
        """Let the window close: what is left waits for the next stretch, or is given up."""
        if self.closes_at is None or not self.carries:
            self.over = True
            return
        stretch = self.window.stretch(self.closes_at)
        self.opens_at, self.closes_at = stretch.opens_at, stretch.closes_at
        self.carried += 1
        self.__post_init__()

    def take(self, calls: int, *, first_s: float, last_s: float) -> None:
        self.left -= calls
        self.sent += calls
        self.first_s = first_s if self.first_s is None else self.first_s
        self.last_s = last_s


@dataclass(frozen=True)
class LaneSpan:
    """A time in which calls come at even distances: the first ones at once, as far as the burst goes."""

    lane: LaneState
    at_s: float
    until_s: float

    @property
    def _tat_s(self) -> float:
        return max(self.lane.tat_s, self.at_s)

    @property
    def calls(self) -> int:
        room_s = self.until_s - self._tat_s + self.lane.pace.tolerance_s
        calls = max(ceil(room_s / self.lane.interval_s), 0)
        return calls if self.lane.calls_left is None else min(calls, self.lane.calls_left)

    def time_s(self, place: int) -> float:
        """Return when a call is made, by its place from 0."""
        return max(self.at_s, self._tat_s + place * self.lane.interval_s - self.lane.pace.tolerance_s)

    def lane_after(self, calls: int) -> LaneState:
        return self.lane.used(tat_s=self._tat_s + calls * self.lane.interval_s, calls=calls)


@dataclass
class LaneSteps:
    """The lane and its runs, from now on; whose turn it is stands first."""

    lane: LaneState
    line: LaneClock
    turns: list[Drawer]
    at_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.at_s = self.line.now_s

    def follow(self, run: Drawer, *, until: datetime) -> None:
        """Step until a run has sent everything or is over, but not further than a moment."""
        end_s = self.line.seconds(until)
        while run.live and self.at_s < end_s:
            self._close_windows()
            ready = [each for each in self.turns if each.live and each.opens_s <= self.at_s]
            edge_s = min(end_s, self._next_edge_s())
            if ready:
                self._step(ready, run, edge_s=edge_s)
            else:
                self.at_s = edge_s

    def _step(self, ready: list[Drawer], run: Drawer, *, edge_s: float) -> None:
        lane = self.lane.brought_to(self.at_s)
        spent = lane.calls_left is not None and lane.calls_left <= 0
        for each in ready if spent else ():
            each.capped = True
        first_s = max(lane.opens_at_s(self.at_s), lane.tat_s - lane.pace.tolerance_s)
        if first_s > self.at_s:
            self.at_s = min(first_s, edge_s)
            return
        span = LaneSpan(lane, self.at_s, min(edge_s, _same_until_s(lane, self.at_s)))
        used = self._share(span, ready, run)
        self.lane = span.lane_after(used)
        whole = used == span.calls and lane.calls_left != used
        self.at_s = span.until_s if whole else span.time_s(used - 1)

    def _share(self, span: LaneSpan, ready: list[Drawer], run: Drawer) -> int:
        """Give the calls of a span to the runs in their turn, and return how many were used."""
        used, calls = 0, span.calls
        while used < calls and ready and run.live:
            used += self._share_rounds(span, ready, used=used)
            head = ready[0]
            taken = min(calls - used, head.batch_left, head.left)
            if taken:
                head.take(taken, first_s=span.time_s(used), last_s=span.time_s(used + taken - 1))
            used += taken
            head.batch_left -= taken
            if not head.batch_left or not head.left:
                head.batch_left = BATCH
                self.turns.remove(head)
                self.turns.append(head)
                ready = [*ready[1:], *([head] if head.left else [])]
        return used

    def _share_rounds(self, span: LaneSpan, ready: list[Drawer], *, used: int) -> int:
        """Give full rounds of turns at once, as many as end no run; who was not ready stands first then."""
        rounds = min(
            (span.calls - used) // (BATCH * len(ready)), *((each.left - 1) // BATCH for each in ready)
        )
        if rounds < 1 or any(each.batch_left < BATCH for each in ready):
            return 0
        for place, each in enumerate(ready):
            first = used + place * BATCH
            last = first + (rounds - 1) * BATCH * len(ready) + BATCH - 1
            each.take(rounds * BATCH, first_s=span.time_s(first), last_s=span.time_s(last))
        self.turns = [*(each for each in self.turns if each not in ready), *ready]
        return rounds * BATCH * len(ready)

    def _close_windows(self) -> None:
        for run in self.turns:
            while run.live and run.closes_s <= self.at_s:
                run.crowded = self.lane.brought_to(self.at_s).opens_at_s(self.at_s) <= self.at_s
                run.close()

    def _next_edge_s(self) -> float:
        """Return when the next window opens or closes."""
        live = [run for run in self.turns if run.live]
        edges = [edge_s for run in live for edge_s in (run.opens_s, run.closes_s)]
        return min((edge_s for edge_s in edges if edge_s > self.at_s), default=inf)


def _same_until_s(lane: LaneState, at_s: float) -> float:
    """Return how long a lane that was brought to a time keeps its rate, and its count of the day's calls."""
    until_s = inf
    if lane.rate < lane.limit:
        until_s = lane.rate_at_s + RECOVERY_S
    if lane.limit < lane.pace.per_minute and lane.warm_at_s is not None:
        until_s = min(until_s, lane.warm_at_s + DAY_S)
    if lane.pace.daily_cap is not None:
        until_s = min(until_s, float((floor(at_s / USE_SLOT_S) + 1) * USE_SLOT_S))
    # A clock that was put back may have left times that are over.
    return until_s if until_s > at_s else at_s + RECOVERY_S
