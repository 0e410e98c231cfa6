"""When a stream is looked at and read: every rule, and which of them outranks which."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain.streams.schedule import (
    HOT_PER_H,
    JITTER,
    WARM_PER_H,
    Decision,
    StreamFacts,
    Tier,
    decayed_rate,
    decide,
    interval_s,
    next_verify_s,
    raised_rate,
    stream_tier,
)
from headgate.domain.streams.schedule_knobs import Knobs

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KNOBS = Knobs()
RESTED = StreamFacts(
    enabled=True,
    waiting=None,
    scanned=True,
    woken=False,
    behind=False,
    fresh=False,
    idle_scans=0,
    idle_at=None,
    checked_at=NOW - timedelta(days=3),
    tier="WARM",
    live=False,
)
COLD = replace(RESTED, tier="COLD", idle_scans=KNOBS.idle_threshold)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def at(facts: StreamFacts, knobs: Knobs = KNOBS) -> Decision:
    return decide(facts, now=NOW, knobs=knobs)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_what_is_switched_off_rests_without_end_even_if_a_person_asks() -> None:
    off = replace(RESTED, enabled=False, waiting="asked", woken=True, behind=True, scanned=False)
    assert at(off) == Decision("rest", "disabled")


@pytest.mark.parametrize(
    "skipped",
    [
        replace(RESTED, breaker_until=later(60)),
        replace(RESTED, scanned=False),
        replace(RESTED, idle_at=ago(1)),
        replace(COLD, checked_at=ago(60)),
        RESTED,
    ],
)
def test_a_person_outranks_every_rule_but_the_switch(skipped: StreamFacts) -> None:
    asked = replace(skipped, waiting="asked")
    assert at(asked) == Decision("check", "asked")
    assert at(replace(asked, fresh=True)) == Decision("read", "asked")


@pytest.mark.parametrize("fresh", [False, True])
def test_an_open_breaker_outranks_all_that_nobody_asked_for(fresh: bool) -> None:
    facts = replace(RESTED, breaker_until=later(60), scanned=False, woken=True, behind=True, fresh=fresh)
    assert at(facts) == Decision("rest", "breaker_open", later(60))


def test_a_breaker_whose_time_is_over_lets_one_try_through() -> None:
    assert at(replace(RESTED, breaker_until=NOW)) == Decision("check", "caught_up")
    assert at(replace(RESTED, breaker_until=ago(1), behind=True)) == Decision("read", "changed")


def test_what_was_never_scanned_is_looked_at_and_then_read() -> None:
    new = replace(RESTED, scanned=False, checked_at=None)
    assert at(new) == Decision("check", "never_scanned")
    assert at(replace(new, fresh=True, behind=True)) == Decision("read", "never_scanned")


def test_what_was_never_scanned_is_looked_at_in_spite_of_idle_and_cold() -> None:
    new = replace(COLD, scanned=False, idle_at=ago(1), checked_at=ago(1))
    assert at(new) == Decision("check", "never_scanned")


def test_an_empty_stream_that_was_never_scanned_rests() -> None:
    empty = replace(RESTED, scanned=False, fresh=True)
    assert at(empty) == Decision("rest", "caught_up", later(KNOBS.normal_s))


def test_what_was_woken_and_is_behind_is_read_without_a_look() -> None:
    woken = replace(COLD, woken=True, behind=True, idle_at=ago(1), checked_at=ago(1))
    assert at(woken) == Decision("read", "woken")


def test_what_was_woken_and_seems_covered_is_looked_at_in_spite_of_idle_and_cold() -> None:
    woken = replace(COLD, woken=True, idle_at=ago(1), checked_at=ago(1))
    assert at(woken) == Decision("check", "caught_up")


@pytest.mark.parametrize("behind", [False, True])
def test_within_the_skip_window_of_an_idle_scan_nothing_is_done(behind: bool) -> None:
    recent = replace(RESTED, idle_at=ago(100), behind=behind)
    assert at(recent) == Decision("rest", "recent_idle", later(KNOBS.skip_window_s - 100))


def test_the_skip_window_ends() -> None:
    assert at(replace(RESTED, idle_at=ago(KNOBS.skip_window_s))).action == "check"


def test_the_skip_window_outranks_cold() -> None:
    assert at(replace(COLD, idle_at=ago(10), checked_at=ago(10))).reason == "recent_idle"


@pytest.mark.parametrize("behind", [False, True])
def test_a_cold_stream_waits_for_its_turn(behind: bool) -> None:
    cold = replace(COLD, idle_at=ago(3600), checked_at=ago(3600), behind=behind)
    turn_s = KNOBS.rarely_s * KNOBS.every_nth * (1 - JITTER)
    assert at(cold) == Decision("rest", "cold", later(turn_s - 3600))


def test_a_turn_that_came_early_by_the_jitter_is_a_turn() -> None:
    turn_s = KNOBS.rarely_s * KNOBS.every_nth * (1 - JITTER)
    assert at(replace(COLD, checked_at=ago(turn_s))).action == "check"
    assert at(replace(COLD, checked_at=ago(turn_s - 1))).reason == "cold"


def test_below_the_threshold_nothing_is_cold() -> None:
    facts = replace(COLD, idle_scans=KNOBS.idle_threshold - 1, checked_at=ago(600))
    assert at(facts).action == "check"


def test_a_stream_with_a_listener_is_never_cold() -> None:
    assert at(replace(COLD, live=True, checked_at=ago(600))).action == "check"


def test_what_is_known_to_be_behind_is_read_without_a_look() -> None:
    assert at(replace(RESTED, behind=True)) == Decision("read", "changed")


def test_a_fetched_head_decides() -> None:
    fresh = replace(RESTED, fresh=True)
    assert at(replace(fresh, behind=True)) == Decision("read", "changed")
    assert at(fresh) == Decision("rest", "caught_up", later(KNOBS.normal_s))


def test_a_fetched_head_that_shows_something_new_is_not_kept_waiting() -> None:
    facts = replace(COLD, fresh=True, behind=True, idle_at=ago(10), checked_at=ago(10))
    assert at(facts) == Decision("read", "changed")


@pytest.mark.parametrize(
    ("tier", "interval"), [("HOT", KNOBS.often_s), ("WARM", KNOBS.normal_s), ("COLD", KNOBS.rarely_s)]
)
def test_a_tier_has_its_interval_which_many_idle_scans_multiply(tier: Tier, interval: float) -> None:
    facts = replace(RESTED, tier=tier)
    assert interval_s(facts, KNOBS) == interval
    idle = replace(facts, idle_scans=KNOBS.idle_threshold)
    assert interval_s(idle, KNOBS) == interval * KNOBS.every_nth
    assert interval_s(idle, replace(KNOBS, every_nth=1)) == interval


def test_with_a_listener_the_interval_is_the_safety_net() -> None:
    assert interval_s(replace(COLD, live=True), KNOBS) == KNOBS.live_s
    assert interval_s(replace(RESTED, tier="HOT", live=True), KNOBS) == KNOBS.live_s


def test_an_age_below_zero_counts_as_zero() -> None:
    ahead = replace(COLD, idle_at=later(86_400), checked_at=later(86_400))
    assert at(ahead) == Decision("rest", "recent_idle", later(KNOBS.skip_window_s))
    assert at(replace(ahead, idle_at=None)) == Decision(
        "rest", "cold", later(KNOBS.rarely_s * KNOBS.every_nth * (1 - JITTER))
    )


def test_a_skip_window_of_zero_skips_nothing() -> None:
    knobs = replace(KNOBS, skip_window_s=0)
    assert at(replace(RESTED, idle_at=NOW), knobs).action == "check"


@st.composite
def stands(draw: st.DrawFn) -> StreamFacts:
    times = st.none() | st.integers(-200_000, 200_000).map(ago)
    return StreamFacts(
        enabled=draw(st.booleans()),
        waiting=draw(st.sampled_from([None, "asked", "changed"])),
        scanned=draw(st.booleans()),
        woken=draw(st.booleans()),
        behind=draw(st.booleans()),
        fresh=draw(st.booleans()),
        idle_scans=draw(st.integers(0, 10)),
        idle_at=draw(times),
        checked_at=draw(times),
        tier=draw(st.sampled_from(("HOT", "WARM", "COLD"))),
        live=draw(st.booleans()),
        breaker_until=draw(times),
    )


@settings(deadline=None)
@given(stands())
def test_no_stream_is_forgotten(facts: StreamFacts) -> None:
    decision = at(facts)
    # Whoever looked has decided, and whoever rests knows until when; only a switch has no end.
    assert not (facts.fresh and decision.action == "check")
    assert (decision.due_at is None) == (decision.action != "rest" or decision.reason == "disabled")
    assert decision.due_at is None or decision.due_at > NOW


@settings(deadline=None)
@given(stands())
def test_no_rest_is_longer_than_the_longest_interval_or_the_breaker(facts: StreamFacts) -> None:
    decision = at(facts)
    if decision.due_at is not None and decision.reason != "breaker_open":
        assert decision.due_at <= later(KNOBS.rarely_s * KNOBS.every_nth)


def test_a_rate_rises_with_arrivals_and_fades_with_time() -> None:
    rate = raised_rate(0.0, arrivals=48, rated_at=None, now=NOW)
    assert rate == pytest.approx(2.0)
    assert decayed_rate(rate, rated_at=NOW, now=NOW) == rate
    assert decayed_rate(rate, rated_at=NOW, now=NOW + timedelta(days=1)) == pytest.approx(
        rate / 2.718, rel=1e-3
    )
    assert raised_rate(rate, arrivals=0, rated_at=NOW, now=NOW + timedelta(days=30)) < WARM_PER_H


def test_a_rate_that_was_noted_in_the_future_does_not_grow() -> None:
    assert decayed_rate(1.0, rated_at=later(86_400), now=NOW) == 1.0


def test_tiers_follow_the_rate() -> None:
    assert [stream_tier(rate) for rate in (HOT_PER_H, WARM_PER_H, 0.0)] == ["HOT", "WARM", "COLD"]
    assert stream_tier(HOT_PER_H * 0.99) == "WARM"
    assert stream_tier(WARM_PER_H * 0.99) == "COLD"


def verified(verify_s: float, *, missed: bool = False) -> float:
    return next_verify_s(verify_s, missed=missed, shortest_s=30, polling_s=300, longest_s=14_400)


def test_hints_are_gathered_longer_each_time_that_nothing_was_missed() -> None:
    spacings = [0.0]
    for _ in range(8):
        spacings.append(verified(spacings[-1]))
    assert spacings[1:] == [300, 600, 1200, 2400, 4800, 9600, 14_400, 14_400]


def test_a_listener_that_missed_something_is_verified_as_often_as_polling_would() -> None:
    assert verified(14_400, missed=True) == 300


@given(st.floats(0, 1e6), st.booleans())
def test_a_listener_never_costs_more_readings_than_polling(verify_s: float, missed: bool) -> None:
    assert verified(verify_s, missed=missed) >= 300
