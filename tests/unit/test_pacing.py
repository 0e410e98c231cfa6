"""The rules of a lane."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain.pacing import (
    DAY_S,
    HORIZON_S,
    LaneState,
    Pace,
    Permit,
    grant_permits,
    refuse,
    slowed_rate,
    warm_limit,
)

ESTABLISHED = Pace(40)


def lane(pace: Pace = ESTABLISHED, *, established: bool = True) -> LaneState:
    return LaneState.created(pace, established=established, at_s=0.0)


@dataclass(frozen=True)
class Fired:
    at_s: float
    rate: float
    burst: int


def assert_bounded(fired: list[Fired]) -> None:
    """No span of time holds more calls than its highest rate allows, plus the burst."""
    fired = sorted(fired, key=lambda call: call.at_s)
    for first in range(len(fired)):
        rate, burst = 0.0, 0
        for last in range(first, len(fired)):
            rate, burst = max(rate, fired[last].rate), max(burst, fired[last].burst)
            span_s = fired[last].at_s - fired[first].at_s
            assert last - first + 1 <= span_s * rate / 60 + burst + 1e-6


@dataclass
class Adversary:
    """Uses every permit as late as it may, also those that are void by their epoch."""

    lanes: dict[str, LaneState]
    at_s: float = 0.0
    fired: dict[str, list[Fired]] = field(default_factory=dict[str, list[Fired]])
    epochs: list[dict[str, int]] = field(default_factory=list[dict[str, int]])

    def take(self, kinds: tuple[str, ...], *, count: int, lateness: float) -> None:
        drawn = [self.lanes[kind] for kind in kinds]
        grant = grant_permits(drawn, count=count, at_s=self.at_s)
        grace_s = min(state.pace.grace_s for state in drawn)
        self.lanes |= dict(zip(kinds, grant.lanes, strict=True))
        for number, time_s in enumerate(grant.times_s):
            assert self.at_s <= time_s <= self.at_s + HORIZON_S
            # Every other call at once, so that late ones meet punctual ones.
            at_s = time_s + grace_s * (lateness if number % 2 else 1 - lateness)
            for kind, state in zip(kinds, grant.lanes, strict=True):
                self.fired.setdefault(kind, []).append(Fired(at_s, state.rate, state.pace.burst))
        self.epochs.append({kind: self.lanes[kind].epoch for kind in kinds})

    def signal(self, *, retry_after_s: float, back: int) -> None:
        for kind, epoch in self.epochs[-1 - back % len(self.epochs)].items() if self.epochs else ():
            self.lanes[kind] = self.lanes[kind].limited(self.at_s, retry_after_s=retry_after_s, epoch=epoch)

    def adjust(self, kind: str, pace: Pace) -> None:
        self.lanes[kind] = self.lanes[kind].adjusted(self.at_s, pace=pace, established=True)


paces = st.builds(
    Pace,
    per_minute=st.sampled_from([2.0, 10.0, 40.0, 60.0, 300.0, 1200.0]),
    burst=st.integers(2, 8),
)


@dataclass(frozen=True)
class Take:
    kinds: tuple[str, ...]
    count: int
    lateness: float


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Signal:
    retry_after_s: float
    back: int


@dataclass(frozen=True)
class Adjust:
    kind: str
    pace: Pace


Step = Take | Wait | Signal | Adjust

steps_of_an_adversary: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        Take,
        st.sampled_from([("send",), ("budget", "send"), ("budget", "read")]),
        st.integers(1, 40),
        st.sampled_from([0.0, 0.5, 1.0]),
    ),
    st.builds(Wait, st.floats(0, 8) | st.sampled_from([0.05, 1.5, 700.0])),
    st.builds(Signal, st.sampled_from([0.0, 1.0, 20.0]), st.integers(0, 3)),
    st.builds(Adjust, st.sampled_from(["send", "budget"]), paces),
)


def play(adversary: Adversary, steps: list[Step]) -> None:
    for step in steps:
        match step:
            case Take(kinds, count, lateness):
                adversary.take(kinds, count=count, lateness=lateness)
            case Wait(seconds):
                adversary.at_s += seconds
            case Signal(retry_after_s, back):
                adversary.signal(retry_after_s=retry_after_s, back=back)
            case Adjust(kind, pace):
                adversary.adjust(kind, pace)


@settings(max_examples=400, deadline=None)
@given(
    send=paces,
    read=paces,
    budget=paces,
    steps=st.lists(steps_of_an_adversary, min_size=3, max_size=40),
)
def test_no_span_holds_more_calls_than_the_rate_and_the_burst(
    send: Pace, read: Pace, budget: Pace, steps: list[Step]
) -> None:
    adversary = Adversary({"send": lane(send), "read": lane(read), "budget": lane(budget)})
    play(adversary, steps)
    for fired in adversary.fired.values():
        assert_bounded(fired)


@pytest.mark.parametrize("late", [0.0, 0.5, 1.0])
def test_forty_a_minute_is_never_more_than_forty_three_in_sixty_seconds(late: float) -> None:
    adversary = Adversary({"send": lane()})
    for _ in range(400):
        adversary.take(("send",), count=3, lateness=late)
        adversary.at_s += 0.7
    times_s = sorted(call.at_s for call in adversary.fired["send"])
    most = max(sum(start <= time_s <= start + 60 for time_s in times_s) for start in times_s)
    assert 40 <= most <= 43


def test_a_busy_lane_keeps_its_full_rate() -> None:
    adversary = Adversary({"send": lane()})
    while adversary.at_s < 3000:
        adversary.take(("send",), count=3, lateness=0.0)
        adversary.at_s += 1.0
    assert len(adversary.fired["send"]) >= 2000


def test_permits_reach_five_seconds_ahead_and_the_rest_comes_back_later() -> None:
    grant = grant_permits([lane(Pace(60))], count=100, at_s=0.0)
    assert len(grant.times_s) == 7
    assert max(grant.times_s) <= HORIZON_S


def test_a_lane_without_room_is_left_as_it_is() -> None:
    full = grant_permits([lane()], count=100, at_s=0.0).lanes
    refused = grant_permits(full, count=1, at_s=0.0)
    assert refused.times_s == ()
    assert refused.lanes == full
    assert refused.come_back_at_s is not None
    assert grant_permits(full, count=1, at_s=refused.come_back_at_s).times_s == (refused.come_back_at_s,)


def test_a_call_waits_for_the_slowest_of_its_lanes() -> None:
    grant = grant_permits([lane(Pace(600)), lane(Pace(30))], count=10, at_s=0.0)
    assert grant.times_s == grant_permits([lane(Pace(30))], count=10, at_s=0.0).times_s


def test_a_clock_that_was_put_back_stops_the_lane_for_seconds_only() -> None:
    busy = grant_permits([lane()], count=3, at_s=0.0).lanes
    put_back = [replace(state, tat_s=state.tat_s + 3600) for state in busy]
    grant = grant_permits(put_back, count=1, at_s=0.0)
    assert grant.come_back_at_s is not None
    assert grant.come_back_at_s < 10


@settings(max_examples=100, deadline=None)
@given(
    cap=st.integers(1, 30),
    steps=st.lists(st.tuples(st.integers(1, 9), st.floats(0, 6 * 3600)), min_size=5, max_size=60),
)
def test_no_day_holds_more_calls_than_the_cap(cap: int, steps: list[tuple[int, float]]) -> None:
    adversary = Adversary({"send": lane(Pace(600, daily_cap=cap))})
    for count, wait_s in steps:
        adversary.take(("send",), count=count, lateness=1.0)
        adversary.at_s += wait_s
    times_s = [call.at_s for call in adversary.fired["send"]]
    for start in times_s:
        assert sum(start <= time_s <= start + DAY_S for time_s in times_s) <= cap


@pytest.mark.parametrize("at_s", [0.0, 450.0, 899.5])
def test_a_capped_call_that_came_late_keeps_a_whole_day_to_the_next(at_s: float) -> None:
    pace = Pace(20, daily_cap=1)
    used = grant_permits([lane(pace)], count=1, at_s=at_s)
    refused = grant_permits(used.lanes, count=1, at_s=at_s + 1)
    assert refused.come_back_at_s is not None
    assert refused.come_back_at_s - (used.times_s[0] + pace.grace_s) >= DAY_S


def test_a_used_up_cap_says_when_there_is_room_again() -> None:
    used = grant_permits([lane(Pace(600, daily_cap=5))], count=9, at_s=100.0)
    assert len(used.times_s) == 5
    refused = grant_permits(used.lanes, count=1, at_s=200.0)
    assert refused.come_back_at_s is not None
    assert DAY_S <= refused.come_back_at_s <= DAY_S + 2 * 900
    assert len(grant_permits(used.lanes, count=9, at_s=refused.come_back_at_s).times_s) == 5


def test_a_limit_signal_halves_the_rate_and_cools_down() -> None:
    slowed = lane().limited(10.0, retry_after_s=30.0, epoch=1)
    assert (slowed.rate, slowed.cool_until_s, slowed.epoch) == (20, 40.0, 2)
    assert grant_permits([slowed], count=1, at_s=10.0).come_back_at_s == 40.0


def test_signals_of_one_flood_halve_the_rate_once() -> None:
    slowed = lane().limited(10.0, retry_after_s=30.0, epoch=1)
    again = slowed.limited(11.0, retry_after_s=60.0, epoch=1)
    assert again.rate == slowed.rate
    assert again.cool_until_s == 71.0
    assert again.epoch == 3
    assert again.limited(12.0, retry_after_s=5.0, epoch=1) == again


def test_a_call_of_the_new_rate_can_halve_it_after_a_cool_down_was_lengthened() -> None:
    slowed = lane().limited(10.0, retry_after_s=1.0, epoch=1).limited(11.0, retry_after_s=5.0, epoch=1)
    assert slowed.limited(20.0, retry_after_s=1.0, epoch=2).rate == 10


@given(signals=st.integers(0, 50), ceiling=st.floats(0.1, 1000))
def test_the_rate_never_falls_so_low_that_the_lane_stands_still(signals: int, ceiling: float) -> None:
    rate = ceiling
    for _ in range(signals):
        rate = slowed_rate(rate, ceiling=ceiling)
    assert rate >= min(1.0, ceiling)


def test_quiet_time_gives_the_rate_back_slowly() -> None:
    slowed = lane().limited(0.0, retry_after_s=0.0, epoch=1)
    rates = [slowed.brought_to(minutes * 60.0).rate for minutes in (9, 10, 19, 20, 60)]
    assert rates == [20, 24, 24, 28, 40]


def test_a_new_account_warms_up_from_ten_a_minute() -> None:
    assert [warm_limit(ESTABLISHED, established=False, warm_days=days) for days in range(5)] == [
        10,
        20,
        30,
        40,
        40,
    ]
    assert warm_limit(Pace(6), established=False, warm_days=0) == 6


def use_daily(state: LaneState, *, days: int, from_day: int = 0) -> LaneState:
    for day in range(from_day, from_day + days):
        (state,) = grant_permits([state], count=1, at_s=day * DAY_S).lanes
    return state


def test_only_days_that_were_used_warm_an_account_up() -> None:
    assert use_daily(lane(established=False), days=1).rate == 10
    assert use_daily(lane(established=False), days=3).rate == 30
    unused = use_daily(lane(established=False), days=1).brought_to(30 * DAY_S)
    assert unused.rate == 20


def test_a_limit_signal_begins_the_warm_day_anew() -> None:
    state = use_daily(lane(established=False), days=2)
    state = state.limited(1.5 * DAY_S, retry_after_s=0.0, epoch=state.epoch)
    state = use_daily(state, days=1, from_day=2)
    assert state.warm_days == 1
    assert use_daily(state, days=1, from_day=3).warm_days == 2


def test_marking_an_account_as_established_ends_its_warm_up_at_once() -> None:
    assert lane(established=False).adjusted(1.0, pace=ESTABLISHED, established=True).rate == 40


def test_a_slowed_lane_stays_slowed_when_its_ceiling_is_raised() -> None:
    slowed = lane().limited(0.0, retry_after_s=0.0, epoch=1)
    assert slowed.adjusted(1.0, pace=Pace(100), established=True).rate == 20


@pytest.mark.parametrize(
    ("per_minute", "burst", "daily_cap"), [(0, 3, None), (40, 1, None), (40, 3, 0), (float("nan"), 3, None)]
)
def test_an_impossible_pace_is_refused(per_minute: float, burst: int, daily_cap: int | None) -> None:
    with pytest.raises(ValueError, match="must be"):
        Pace(per_minute, burst, daily_cap)


def permit(closes_at_s: float | None = None, *, spent: bool = False) -> Permit:
    return Permit("a", "send", {"send": 4}, due_at_s=10, void_at_s=12, closes_at_s=closes_at_s, spent=spent)


@pytest.mark.parametrize(
    ("candidate", "at_s", "epoch", "refusal"),
    [
        (permit(), 9.9, 4, "early"),
        (permit(), 10.0, 4, None),
        (permit(), 12.0, 4, None),
        (permit(), 12.1, 4, "late"),
        (permit(), 11.0, 5, "outdated"),
        (permit(closes_at_s=11.0), 11.0, 4, "closed"),
        (permit(closes_at_s=11.0), 10.9, 4, None),
        (permit(spent=True), 11.0, 4, "spent"),
    ],
)
def test_a_permit_is_good_for_one_call_at_its_time(
    candidate: Permit, at_s: float, epoch: int, refusal: str | None
) -> None:
    assert refuse(candidate, at_s=at_s, epochs={"send": epoch}) == refusal
