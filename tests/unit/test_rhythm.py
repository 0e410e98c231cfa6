"""The rhythm of a listing: when its next entry is expected, and when it is worth a look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.listings.rhythm import (
    MAX_ARRIVALS,
    NextPoll,
    PollTiming,
    Rhythm,
    expected_next,
    listing_tier,
    next_poll,
)
from headgate.domain.streams.schedule import Tier
from headgate.domain.streams.schedule_knobs import Knobs
from headgate.domain.words.listing_words import frequency_reason_text

pytestmark = pytest.mark.once

SUNDAY = datetime(2026, 3, 1, 17, 0, tzinfo=UTC)
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
COLDNESS = {"HOT": 0, "WARM": 1, "COLD": 2}
TIERS: list[Tier] = ["HOT", "WARM", "COLD"]

MOMENTS = st.integers(-400 * 86_400, 400 * 86_400).map(lambda seconds: SUNDAY + timedelta(seconds=seconds))
ARRIVALS = st.lists(MOMENTS, max_size=25)


def every(gap: timedelta, count: int = 10, *, newest: datetime = SUNDAY) -> list[datetime]:
    return [newest - gap * number for number in range(count)]


def look(
    arrivals: list[datetime],
    now: datetime,
    tier: Tier = "COLD",
    *,
    rest_s: float | None = None,
    failing: bool = False,
    shortest_s: float = 300.0,
) -> NextPoll:
    return next_poll(
        tier=tier,
        arrivals=arrivals,
        now=now,
        knobs=Knobs(),
        rest_s=rest_s,
        failing=failing,
        shortest_s=shortest_s,
    )


def test_a_weekly_series_is_expected_at_its_hour_of_the_week() -> None:
    assert expected_next(every(WEEK), now=SUNDAY + DAY) == SUNDAY + WEEK


def test_one_late_chapter_does_not_move_the_time_of_the_next() -> None:
    arrivals = [SUNDAY + DAY, *every(WEEK, newest=SUNDAY - WEEK)]
    assert expected_next(arrivals, now=SUNDAY + 2 * DAY) == SUNDAY + WEEK


def test_a_week_without_a_chapter_is_only_a_break() -> None:
    arrivals = [at for at in every(WEEK, 12) if at not in {SUNDAY - 2 * WEEK, SUNDAY - 6 * WEEK}]
    assert expected_next(arrivals, now=SUNDAY + DAY) == SUNDAY + WEEK


def test_a_release_that_is_a_little_late_is_expected_still_and_later_on_its_next_turn() -> None:
    assert expected_next(every(WEEK), now=SUNDAY + WEEK + HOUR) == SUNDAY + WEEK
    assert expected_next(every(WEEK), now=SUNDAY + WEEK + DAY) == SUNDAY + 2 * WEEK


@pytest.mark.parametrize(
    "arrivals",
    [
        [],
        [SUNDAY],
        every(WEEK, 2),
        [SUNDAY] * 20,
        [SUNDAY - timedelta(days=days) for days in (0, 1, 9, 10.4, 17.1, 22.7, 30, 31.5, 45)],
    ],
)
def test_of_some_nobody_can_tell_when_they_come(arrivals: list[datetime]) -> None:
    assert expected_next(arrivals, now=SUNDAY + HOUR) is None


@pytest.mark.parametrize(
    ("arrivals", "after", "tier", "reason"),
    [
        ([], HOUR, "WARM", "new"),
        ([SUNDAY], HOUR, "WARM", "new"),
        (every(4 * HOUR), HOUR, "HOT", "burst"),
        (every(DAY), 23.8 * HOUR, "HOT", "daily_due"),
        (every(DAY), 25 * HOUR, "HOT", "daily_due"),
        (every(DAY), 12 * HOUR, "WARM", "daily_resting"),
        (every(WEEK), DAY, "COLD", "weekly_resting"),
        (every(WEEK), WEEK - HOUR / 6, "HOT", "weekly_due"),
        (every(WEEK), WEEK + 6 * HOUR, "HOT", "weekly_due"),
        (every(WEEK), 1.6 * WEEK, "WARM", "late"),
        (every(WEEK), 6 * WEEK, "COLD", "slow"),
        (every(30 * DAY), 10 * DAY, "COLD", "slow"),
        (every(30 * DAY), 30 * DAY, "WARM", "slow_due"),
        (every(WEEK), 20 * WEEK, "COLD", "silent"),
        ([SUNDAY], 100 * DAY, "COLD", "silent"),
        (
            [SUNDAY - timedelta(days=d) for d in (0, 1, 9, 10.4, 17.1, 22.7, 30, 31.5)],
            DAY,
            "WARM",
            "irregular",
        ),
    ],
)
def test_the_tier_follows_the_rhythm(
    arrivals: list[datetime], after: timedelta, tier: Tier, reason: str
) -> None:
    assert listing_tier(arrivals, now=SUNDAY + after) == (tier, reason)


def test_a_series_is_looked_at_more_often_around_its_hour_of_the_week() -> None:
    looks, now, arrivals = list[datetime](), SUNDAY + HOUR, every(WEEK)
    while now < SUNDAY + WEEK + 4 * HOUR:
        looks.append(now)
        now = look(arrivals, now, listing_tier(arrivals, now=now)[0]).due_at
    near = [at for at in looks if abs(at - SUNDAY - WEEK) <= 4 * HOUR]
    assert SUNDAY + WEEK in looks
    assert len(near) >= 48
    assert len(looks) - len(near) <= 7 * 6


def test_an_import_of_many_at_once_is_one_arrival() -> None:
    arrivals = [SUNDAY - timedelta(seconds=number / 10) for number in range(500)]
    assert Rhythm.of(arrivals, now=SUNDAY).arrivals == (SUNDAY,)
    assert listing_tier(arrivals, now=SUNDAY + HOUR) == ("WARM", "new")


def test_times_in_the_future_do_not_keep_a_listing_awake() -> None:
    planned = [SUNDAY + 10 * DAY * number for number in range(1, 30)]
    assert listing_tier([*planned, *every(WEEK)], now=SUNDAY + DAY) == listing_tier(
        every(WEEK), now=SUNDAY + DAY
    )
    assert Rhythm.of([SUNDAY + HOUR], now=SUNDAY).arrivals == (SUNDAY,)


def test_a_clock_that_was_set_back_knows_nothing_of_what_is_to_come() -> None:
    assert listing_tier(every(HOUR), now=SUNDAY - WEEK) == ("WARM", "new")
    assert look(every(HOUR), SUNDAY - WEEK, "WARM") == NextPoll(SUNDAY - WEEK + HOUR / 2, "interval")


@pytest.mark.parametrize(
    ("tier", "rest_s", "after", "reason"),
    [
        ("HOT", None, timedelta(minutes=5), "interval"),
        ("WARM", None, timedelta(minutes=30), "interval"),
        ("COLD", None, 4 * HOUR, "interval"),
        ("HOT", 3600.0, HOUR, "source_rest"),
        ("COLD", 3600.0, 4 * HOUR, "interval"),
        ("HOT", 1e9, DAY, "source_rest"),
        ("HOT", float("inf"), DAY, "source_rest"),
        ("HOT", float("nan"), timedelta(minutes=5), "interval"),
        ("HOT", -5.0, timedelta(minutes=5), "interval"),
    ],
)
def test_the_source_may_ask_for_rest_but_not_for_ever(
    tier: Tier, rest_s: float | None, after: timedelta, reason: PollTiming
) -> None:
    assert look([], SUNDAY, tier, rest_s=rest_s) == NextPoll(SUNDAY + after, reason)


def test_an_expected_release_is_looked_for_at_its_time() -> None:
    now = SUNDAY + WEEK - HOUR
    assert look(every(WEEK), now) == NextPoll(SUNDAY + WEEK, "expected")
    assert look(every(WEEK), now, rest_s=2 * 3600.0) == NextPoll(now + 2 * HOUR, "expected")
    assert look(every(WEEK), now, failing=True) == NextPoll(now + 4 * HOUR, "failing")


def test_every_reason_has_its_words() -> None:
    for reason in (
        "new",
        "burst",
        "daily_due",
        "weekly_resting",
        "late",
        "irregular",
        "slow",
        "slow_due",
        "silent",
    ):
        assert frequency_reason_text(reason).endswith(".")
    assert frequency_reason_text("unheard of") == ""


@given(
    ARRIVALS, MOMENTS, st.sampled_from(TIERS), st.none() | st.floats(), st.floats(300, 86_400), st.booleans()
)
def test_no_look_is_too_soon_or_more_than_a_day_away(
    arrivals: list[datetime],
    now: datetime,
    tier: Tier,
    rest_s: float | None,
    shortest_s: float,
    failing: bool,
) -> None:
    due_at = look(arrivals, now, tier, rest_s=rest_s, shortest_s=shortest_s, failing=failing).due_at
    assert now + timedelta(seconds=shortest_s) <= due_at <= now + DAY
    if rest_s is not None and 0 < rest_s < 86_400:
        assert due_at >= now + timedelta(seconds=rest_s)


@given(ARRIVALS, MOMENTS)
def test_a_release_is_never_looked_for_before_it_is_expected(arrivals: list[datetime], now: datetime) -> None:
    found, expected_at = look(arrivals, now), expected_next(arrivals, now=now)
    if found.reason == "expected":
        assert expected_at is not None
        assert now < expected_at <= found.due_at
    if expected_at is not None:
        assert expected_at >= now - 12 * HOUR


@given(ARRIVALS, MOMENTS)
def test_the_order_and_repeats_of_the_arrivals_do_not_matter(arrivals: list[datetime], now: datetime) -> None:
    arrivals = arrivals[: MAX_ARRIVALS // 2]
    tier, reason = listing_tier(arrivals, now=now)
    assert listing_tier([*reversed(arrivals), *arrivals], now=now) == (tier, reason)
    assert frequency_reason_text(reason)


@given(st.lists(st.integers(0, 86_399), max_size=10), st.integers(0, 86_399))
def test_more_arrivals_of_the_last_day_never_give_a_colder_tier(ages: list[int], age: int) -> None:
    fewer = [SUNDAY - timedelta(seconds=seconds) for seconds in ages]
    more = [*fewer, SUNDAY - timedelta(seconds=age)]
    assert COLDNESS[listing_tier(more, now=SUNDAY)[0]] <= COLDNESS[listing_tier(fewer, now=SUNDAY)[0]]


@given(st.integers(1, 1200), st.integers(1, 1200), st.floats(0, 0.99))
def test_at_the_same_part_of_its_rhythm_a_faster_series_is_never_colder(
    one: int, other: int, part: float
) -> None:
    faster, slower = (
        listing_tier(every(hours * HOUR), now=SUNDAY + hours * HOUR * part)[0]
        for hours in sorted((one, other))
    )
    assert COLDNESS[faster] <= COLDNESS[slower]
