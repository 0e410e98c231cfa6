"""What will become of a run: compared with a lane that is really asked for every single message."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from zones import zoned_moments

from headgate.domain.pacing import LaneState, Pace, grant_permits
from headgate.domain.reminders.forecast import (
    HORIZON,
    AtClose,
    Forecast,
    PlannedRun,
    Queued,
    advice,
    forecast,
)
from headgate.domain.reminders.lane_steps import BATCH
from headgate.domain.reminders.windows import Window

NOW = datetime(2026, 11, 16, 8, tzinfo=UTC)
WHOLE = Window(0, 1440, "UTC")
DAY = Window(360, 1080, "UTC")
ESTABLISHED = Pace(40)


def lane(pace: Pace = ESTABLISHED, *, established: bool = True) -> LaneState:
    return LaneState.created(pace, established=established, at_s=NOW.timestamp())


def plan(
    messages: int, window: Window = WHOLE, *, at_close: AtClose = "stop", parts: int = 1, hours: float = 0
) -> PlannedRun:
    return PlannedRun(messages, parts, window, at_close, NOW + timedelta(hours=hours))


def cast(
    mine: PlannedRun, *others: Queued, on: LaneState | None = None, speed: float = 1, now: datetime = NOW
) -> Forecast:
    return forecast(on or lane(), now=now, mine=mine, others=others, pace_of_clock=speed)


def test_a_thousand_captioned_pictures_take_25_minutes_and_with_a_text_apart_50() -> None:
    captioned, apart = cast(plan(1000)), cast(plan(2000, parts=2))
    assert captioned.ends_at == NOW + timedelta(minutes=25, seconds=-3)
    assert apart.ends_at == NOW + timedelta(minutes=50, seconds=-3)
    assert (apart.targets_reached, apart.targets_unreached) == (1000, 0)


def test_a_run_waits_for_its_start_and_for_its_window() -> None:
    evening = Window(1200, 1320, "UTC")
    assert cast(plan(10, hours=5)).begins_at == NOW + timedelta(hours=5)
    assert cast(plan(10, evening)).begins_at == NOW + timedelta(hours=12)
    assert cast(plan(10, evening, hours=13)).begins_at == NOW + timedelta(hours=13)


def test_a_run_that_meets_its_windows_end_stops_there() -> None:
    stopped = cast(plan(60_000, DAY, parts=2))
    assert stopped.ends_at == NOW + timedelta(hours=10)
    assert stopped.targets_reached + stopped.targets_unreached == 30_000
    assert stopped.targets_reached == pytest.approx(12_000, abs=2)
    assert stopped.saturated_until_close
    assert stopped.carried_windows == 0


def test_a_run_that_carries_goes_on_in_the_next_windows() -> None:
    carried = cast(plan(60_000, DAY, at_close="carry"))
    assert (carried.targets_reached, carried.targets_unreached, carried.carried_windows) == (60_000, 0, 2)
    assert carried.ends_at is not None
    assert carried.ends_at.date() == (NOW + timedelta(days=2)).date()


def test_runs_of_one_account_take_turns_of_a_batch() -> None:
    shared = cast(plan(1000), Queued(1000, WHOLE, "stop"))
    assert shared.begins_at == NOW + timedelta(seconds=BATCH * 1.5 - 3 + 1.5)
    assert shared.ends_at == NOW + timedelta(minutes=50, seconds=-3)
    behind_a_short_one = cast(plan(1000), Queued(100, WHOLE, "stop"))
    assert behind_a_short_one.ends_at == NOW + timedelta(minutes=27.5, seconds=-3)


def test_others_count_only_while_their_windows_are_open() -> None:
    closed = Queued(100_000, Window(1200, 1320, "UTC"), "carry")
    assert cast(plan(1000), closed).ends_at == cast(plan(1000)).ends_at


def test_a_day_cap_is_told_apart_from_capacity() -> None:
    capped = cast(plan(1000, DAY), on=lane(Pace(40, daily_cap=300)))
    assert (capped.targets_reached, capped.daily_cap_reached) == (300, True)
    assert not capped.saturated_until_close


def test_a_cool_down_until_the_close_is_no_capacity() -> None:
    cooling = replace(lane(), cool_until_s=NOW.timestamp() + 86_400)
    assert cast(plan(10, DAY), on=cooling) == Forecast(
        opens_at=NOW,
        begins_at=None,
        ends_at=NOW + timedelta(hours=10),
        targets_reached=0,
        targets_unreached=10,
        carried_ends_at=NOW + timedelta(hours=24, seconds=12),
    )


def test_a_quick_product_clock_leaves_less_room_in_a_window() -> None:
    quick = cast(plan(1000, DAY), speed=60)
    assert quick.ends_at == NOW + timedelta(hours=10)
    assert quick.targets_reached == pytest.approx(400, abs=3)
    assert cast(plan(100), speed=60).ends_at == NOW + timedelta(minutes=60 * 2.5, seconds=-180)


def test_the_lanes_clock_may_show_another_time_than_the_products() -> None:
    at_s = NOW.timestamp() - 10_000_000
    other = LaneState.created(Pace(40), established=True, at_s=at_s)
    told = forecast(other, now=NOW, mine=plan(1000, DAY), others=[], lane_now_s=at_s)
    assert told == cast(plan(1000, DAY))


def test_a_trillion_messages_cost_no_more_than_a_few_and_end_at_the_horizon() -> None:
    endless = cast(
        plan(10**12, DAY, at_close="carry"), Queued(10**12, WHOLE, "stop"), Queued(7, DAY, "carry")
    )
    assert endless.ends_at is None
    assert endless.targets_unreached > 10**11
    assert cast(plan(10**12)).targets_reached == pytest.approx(HORIZON / timedelta(seconds=1.5), abs=4)


def test_nothing_to_send_ends_at_once() -> None:
    nothing = cast(plan(0, hours=1))
    assert (nothing.ends_at, nothing.targets_reached) == (NOW + timedelta(hours=1), 0)


# A lane that is asked for each message, one at a time, as the sender does.


@dataclass(eq=False)
class Asking:
    left: int
    window: Window
    carries: bool
    ready_at: datetime
    since: datetime | None = None
    batch: int = BATCH
    over: bool = False
    last_at: datetime | None = None
    sent: int = 0

    def is_open(self, at: datetime) -> bool:
        """Tell whether it may send; a window that was open once and closed ends it if it does not carry."""
        if self.over or not self.left or at < self.ready_at:
            return False
        if self.since is not None and not self.carries:
            closes_at = self.window.stretch(self.since).closes_at
            self.over = closes_at is not None and at >= closes_at
        elif self.since is None:
            self.since = self.window.stretch(max(self.ready_at, NOW)).opens_at
            return self.is_open(at)
        return not self.over and self.window.is_open(at)

    def edges(self, at: datetime) -> list[datetime]:
        stretch = self.window.stretch(max(at, self.ready_at))
        edges = [self.ready_at, stretch.opens_at, *([stretch.closes_at] if stretch.closes_at else [])]
        return [edge for edge in edges if edge > at]


def ask_for_each(state: LaneState, mine: PlannedRun, others: list[Queued]) -> Asking:
    run = Asking(mine.messages, mine.window, mine.at_close == "carry", mine.starts_at)
    turns = [Asking(other.messages, other.window, other.at_close == "carry", NOW) for other in others]
    turns.append(run)
    at, end = NOW, mine.starts_at + HORIZON
    while run.left and not run.over and at < end:
        ready = [each for each in turns if each.is_open(at)]
        edge = min([end, *(edge for each in turns if each.left for edge in each.edges(at))])
        if not ready:
            at = edge
            continue
        grant = grant_permits([state], count=1, at_s=at.timestamp(), horizon_s=0)
        if grant.come_back_at_s is not None:
            at = min(edge, datetime.fromtimestamp(grant.come_back_at_s + 1e-6, UTC))
            continue
        state, head = grant.lanes[0], ready[0]
        head.left, head.sent, head.batch, head.last_at = head.left - 1, head.sent + 1, head.batch - 1, at
        if not head.batch or not head.left:
            head.batch = BATCH
            turns.remove(head)
            turns.append(head)
    return run


_bounds = st.sampled_from([(0, 1440), (360, 1080), (470, 490), (475, 600), (1320, 485), (1200, 481)])
_windows = _bounds.map(lambda bounds: Window(*bounds, "UTC"))
_at_close = st.sampled_from(["stop", "carry"])
_queued = st.builds(Queued, st.integers(1, 300), _windows, _at_close)


@st.composite
def lanes(draw: st.DrawFn) -> LaneState:
    cap = draw(st.none() | st.integers(30, 400))
    # Odd figures, so that few calls fall on the very moment at which a rate changes.
    pace = Pace(draw(st.sampled_from([7.3, 41.3, 61.7])), draw(st.integers(2, 6)), cap)
    at_s = NOW.timestamp() - draw(st.integers(0, 4000)) - 0.37
    state = LaneState.created(pace, established=draw(st.booleans()), at_s=at_s)
    if draw(st.booleans()):
        state = state.limited(at_s, retry_after_s=draw(st.integers(0, 5000)), epoch=state.epoch)
    if draw(st.booleans()):
        state = grant_permits([state], count=draw(st.integers(1, 10)), at_s=at_s).lanes[0]
    return state


SLOWED = LaneState.created(Pace(41.3), established=True, at_s=NOW.timestamp() - 0.37).limited(
    NOW.timestamp() - 0.37, retry_after_s=0, epoch=1
)
LATER_CLOSED = Queued(290, Window(360, 491, "UTC"), "carry")


@pytest.mark.long
@settings(deadline=None, max_examples=120)
@example(SLOWED, 500, WHOLE, "stop", 0, [])
@example(SLOWED, 90, WHOLE, "stop", 0, [Queued(300, WHOLE, "stop"), LATER_CLOSED])
@example(SLOWED, 130, WHOLE, "stop", 0, [LATER_CLOSED, Queued(300, DAY, "stop")])
@given(lanes(), st.integers(1, 500), _windows, _at_close, st.integers(0, 40), st.lists(_queued, max_size=3))
def test_a_forecast_is_what_a_lane_that_is_asked_for_each_message_does(
    state: LaneState, messages: int, window: Window, at_close: AtClose, hours: int, others: list[Queued]
) -> None:
    mine = plan(messages, window, at_close=at_close, hours=hours / 4)
    asked, told = ask_for_each(state, mine, others), cast(mine, *others, on=state)
    assert told.targets_reached == pytest.approx(asked.sent, abs=1)
    if told.targets_unreached == 0 and asked.left == 0:
        assert told.ends_at is not None
        assert asked.last_at is not None
        # A call at the very moment of a change may count before or after it.
        assert abs(told.ends_at - asked.last_at) < timedelta(seconds=2 * state.interval_s)


@settings(deadline=None)
@given(st.integers(1, 5000), st.sampled_from([10.0, 40.0, 600.0]), st.integers(2, 10))
def test_alone_on_the_whole_day_a_run_takes_its_messages_by_the_rate(n: int, rate: float, burst: int) -> None:
    told = cast(plan(n), on=lane(Pace(rate, burst)))
    assert told.ends_at is not None
    least_s = max(n - burst, 0) * 60 / rate
    assert least_s - 1e-3 <= (told.ends_at - NOW).total_seconds() <= least_s + burst * 60 / rate


@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(1, 400), _windows)
def test_no_day_has_more_calls_than_the_cap(messages: int, cap: int, window: Window) -> None:
    told = cast(plan(messages, window, at_close="carry"), on=lane(Pace(60, daily_cap=cap)))
    if told.ends_at is not None and told.begins_at is not None:
        assert told.ends_at - told.begins_at >= timedelta(days=(messages - 1) // cap)
    else:
        assert told.targets_reached <= cap * (HORIZON.days + 1)


@settings(deadline=None)
@given(
    lanes(), st.integers(1, 3000), st.integers(1, 3000), _windows, _at_close, st.lists(_queued, max_size=3)
)
def test_more_messages_never_end_earlier(
    state: LaneState, fewer: int, more: int, window: Window, at_close: AtClose, others: list[Queued]
) -> None:
    first = cast(plan(fewer, window, at_close=at_close), *others, on=state)
    second = cast(plan(fewer + more, window, at_close=at_close), *others, on=state)
    assert second.ends_at is None or (first.ends_at is not None and first.ends_at <= second.ends_at)
    assert second.targets_reached >= first.targets_reached


def test_who_reaches_everybody_needs_no_advice() -> None:
    mine = plan(1000, DAY)
    assert advice(cast(mine), mine, ["Second"]) == []


def test_a_run_that_is_cut_off_is_told_what_would_help() -> None:
    mine = plan(25_000, DAY)
    assert advice(cast(mine), mine, ["Second", "Third", "Fourth"]) == [
        "A delivery window until 18:40 would reach all groups.",
        (
            "Going on in the next window instead of stopping would reach the rest, "
            "the last on 2026-11-17 at 06:24."
        ),
        "The remaining 999 groups can be sent from another account: Second, Third or Fourth.",
    ]


def test_a_run_that_goes_on_anyway_hears_how_to_end_at_once() -> None:
    mine = plan(25_000, DAY, at_close="carry")
    assert advice(cast(mine), mine, ["Second"]) == [
        "A delivery window until 18:40 would reach all groups at once."
    ]


def test_no_end_is_named_that_would_open_the_window_earlier_and_close_it_on_the_run() -> None:
    evening = NOW + timedelta(hours=11)
    mine = PlannedRun(32_000, 1, DAY, "stop", evening)
    on = LaneState.created(ESTABLISHED, established=True, at_s=evening.timestamp())
    assert cast(mine, on=on, now=evening).wider_end is None


def test_no_end_is_named_that_is_not_within_the_day() -> None:
    mine = plan(60_000, DAY)
    assert not any("delivery window until" in line for line in advice(cast(mine), mine, []))


@settings(deadline=None)
@given(zoned_moments(), st.integers(1, 40_000), st.integers(0, 1439), st.integers(1, 1440))
@example(("Europe/London", datetime(2026, 10, 24, 22, 40, tzinfo=UTC)), 4000, 1400, 80)
def test_the_advised_window_would_do(
    zoned: tuple[str, datetime], messages: int, start: int, end: int
) -> None:
    zone, now = zoned
    if start == end:
        return
    on = LaneState.created(Pace(40), established=True, at_s=now.timestamp())
    mine = PlannedRun(messages, 1, Window(start, end, zone), "stop", now)
    for line in advice(cast(mine, on=on, now=now), mine, []):
        if line.startswith("A delivery window until "):
            hour, minute = line.removeprefix("A delivery window until ")[:5].split(":")
            wider = replace(mine, window=Window(start, int(hour) * 60 + int(minute), zone))
            assert cast(wider, on=on, now=now).targets_unreached == 0
