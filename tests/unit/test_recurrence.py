"""When reminders fire: the plain choices, cron lines, and what changes of clocks do to them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from zones import shown_before, zoned_moments

from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import (
    Schedule,
    check_fires,
    check_future,
    count_fires,
    daily,
    describe,
    fire_minutes,
    last_fire,
    monthly,
    next_fire,
    next_fires,
    weekdays,
    weekly,
)
from headgate.domain.reminders.windows import Window, parse_minute

KL = "Asia/Kuala_Lumpur"
LONDON = "Europe/London"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def once(text: str) -> Schedule:
    return Schedule(once=datetime.fromisoformat(text))


def fires(schedule: Schedule, zone: str, after: str, count: int = 3) -> list[str]:
    return [f"{fire:%Y-%m-%d %H:%M}" for fire in next_fires(schedule, zone, after=utc(after), count=count)]


@pytest.mark.parametrize(
    ("schedule", "words", "first"),
    [
        (daily("09:00"), "Daily at 09:00", "2026-11-16 09:00"),
        (weekdays(540), "Weekdays at 09:00", "2026-11-16 09:00"),
        (weekly(["sun"], "09:05"), "Weekly on Sunday at 09:05", "2026-11-22 09:05"),
        (weekly(["thu", "Monday"], 540), "Weekly on Monday and Thursday at 09:00", "2026-11-16 09:00"),
        (
            weekly(["sun", "sat", "fri"], 540),
            "Weekly on Friday, Saturday and Sunday at 09:00",
            "2026-11-20 09:00",
        ),
        (monthly(15, "09:00"), "Monthly on day 15 at 09:00", "2026-12-15 09:00"),
        (monthly("last", "09:00"), "Monthly on the last day at 09:00", "2026-11-30 09:00"),
        (once("2026-12-01 09:00"), "Once on 2026-12-01 at 09:00", "2026-12-01 09:00"),
        (Schedule(cron="0 9 * * mon-fri"), "Weekdays at 09:00", "2026-11-16 09:00"),
        (Schedule(cron="0 9,15 * * *"), "cron 0 9,15 * * *", "2026-11-15 15:00"),
        (Schedule(cron="0 9 * 12 *"), "cron 0 9 * 12 *", "2026-12-01 09:00"),
        (Schedule(cron="0 9 * * mon#1"), "cron 0 9 * * mon#1", "2026-12-07 09:00"),
        (Schedule(cron="0 9 15W * *"), "cron 0 9 15W * *", "2026-11-16 09:00"),
        (Schedule(cron="0 9 1 * mon"), "cron 0 9 1 * mon", "2026-11-16 09:00"),
    ],
)
def test_a_schedule_is_told_in_words_and_fires(schedule: Schedule, words: str, first: str) -> None:
    assert describe(schedule) == words
    assert fires(schedule, "UTC", "2026-11-15 13:05", count=1) == [first]


def test_day_31_passes_over_the_shorter_months_and_the_last_day_does_not() -> None:
    assert fires(monthly(31, 0), "UTC", "2027-01-01", 3) == [
        "2027-01-31 00:00", "2027-03-31 00:00", "2027-05-31 00:00",
    ]  # fmt: skip
    assert fires(monthly("last", 0), "UTC", "2028-01-01", 3) == [
        "2028-01-31 00:00", "2028-02-29 00:00", "2028-03-31 00:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 9 * *", "has 5 fields .* has 4"),
        ("0 0 9 * * *", "has 6"),
        ("@daily", "has 1"),
        ("60 9 * * *", "The minute '60'"),
        ("0 25 * * *", "The hour '25'"),
        ("0 9 32 * *", "The day of the month '32'"),
        ("0 9 * 13 *", "The month '13'"),
        ("0 9 * * someday", "The day of the week 'someday'"),
        ("R 9 * * *", "The minute 'R'"),
        ("0 H(8-9) * * *", "The hour"),
        ("0 9 30 2 *", "never happens"),
        ("* * * * *", "more often than every 5 minutes"),
        ("*/4 9 * * *", "more often"),
        ("0,58 0,23 * * *", "more often"),
    ],
)
def test_a_bad_cron_line_is_refused_with_what_is_wrong_and_an_example(line: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        Schedule(cron=line)
    assert " * * " in refused.value.remedy


def test_every_five_minutes_is_not_too_often() -> None:
    assert len(fire_minutes(Schedule(cron="*/5 * * * *"))) == 288


def test_a_schedule_is_one_time_or_a_repetition() -> None:
    with pytest.raises(UserError, match="Choose one of the two"):
        Schedule()
    with pytest.raises(UserError, match="Choose one of the two"):
        Schedule(once=datetime.fromisoformat("2026-01-01"), cron="0 9 * * *")
    with pytest.raises(ValueError, match="without a zone"):
        Schedule(once=utc("2026-01-01"))


def test_choices_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UserError, match="no day 32"):
        monthly(32, 0)
    with pytest.raises(UserError, match="'monkey' is not a day"):
        weekly(["monkey"], 0)
    with pytest.raises(UserError, match="Choose a day of the week"):
        weekly([], 0)
    with pytest.raises(UserError, match="00:00 to 23:59"):
        daily("24:00")


def test_a_fire_time_outside_the_window_is_refused() -> None:
    window = Window(parse_minute("10:00"), parse_minute("18:00"), KL)
    with pytest.raises(UserError, match="09:00 is outside the delivery window 10:00–18:00"):
        check_fires(daily("09:00"), window)
    with pytest.raises(UserError, match="08:00 and 2 more of the fire times are outside"):
        check_fires(Schedule(cron="0 8,9,12,18 * * *"), window)
    with pytest.raises(UserError, match="18:00 is outside"):
        check_fires(once("2026-12-01 18:00"), window)
    check_fires(daily("10:00"), window)
    check_fires(daily("03:00"), Window(1320, 360, KL))


def test_a_time_in_the_past_is_refused() -> None:
    past = once("2026-11-15 09:00")
    with pytest.raises(UserError, match=r"Once on 2026-11-15 at 09:00 \(Asia/Kuala_Lumpur\) is in the past"):
        check_future(past, KL, now=utc("2026-11-15 01:00"))
    check_future(past, KL, now=utc("2026-11-15 00:59"))
    check_future(daily(0), KL, now=utc("2026-11-15"))


def test_one_time_fires_once() -> None:
    schedule = once("2026-12-01 09:00")
    fire = utc("2026-12-01 01:00")
    assert next_fires(schedule, KL, after=utc("2026-11-15"), count=5) == [fire]
    assert next_fire(schedule, KL, after=fire) is None
    assert last_fire(schedule, KL, after=utc("2026-11-15"), until=fire) == fire
    assert last_fire(schedule, KL, after=fire, until=utc("2027-01-01")) is None


# In London the clock jumps from 01:00 to 02:00 on 29 March 2026, and from 02:00 back to 01:00 on 25 October.
def test_a_fire_in_a_gap_happens_at_the_jump() -> None:
    assert fires(daily("01:30"), LONDON, "2026-03-28 00:00") == [
        "2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30",
    ]  # fmt: skip
    assert fires(Schedule(cron="*/20 * * * *"), LONDON, "2026-03-29 00:30") == [
        "2026-03-29 00:40", "2026-03-29 01:00", "2026-03-29 01:20",
    ]  # fmt: skip
    assert fires(once("2026-03-29 01:30"), LONDON, "2026-03-01") == ["2026-03-29 01:00"]


def test_a_fire_in_a_fold_happens_once_the_first_time() -> None:
    assert fires(daily("01:30"), LONDON, "2026-10-24 12:00", count=2) == [
        "2026-10-25 00:30",
        "2026-10-26 01:30",
    ]
    assert fires(daily("01:30"), LONDON, "2026-10-25 01:10", count=1) == ["2026-10-26 01:30"]
    assert fires(Schedule(cron="*/30 * * * *"), LONDON, "2026-10-25 00:00", count=2) == [
        "2026-10-25 00:30", "2026-10-25 02:00",
    ]  # fmt: skip


def test_the_last_fire_is_not_forgotten_while_the_clock_shows_earlier_times_again() -> None:
    after, until = utc("2026-10-24 23:00"), utc("2026-10-25 01:10")
    for schedule in (Schedule(cron="*/30 * * * *"), once("2026-10-25 01:30")):
        assert last_fire(schedule, LONDON, after=after, until=until) == utc("2026-10-25 00:30")


def test_the_last_fire_of_a_long_downtime_is_found_at_once_and_counting_stops() -> None:
    schedule = Schedule(cron="*/5 * * * *")
    after, until = utc("2006-01-01"), utc("2026-01-01 00:03")
    assert last_fire(schedule, KL, after=after, until=until) == utc("2026-01-01 00:00")
    assert count_fires(schedule, KL, after=after, until=until) == 1000
    assert count_fires(schedule, KL, after=after, until=until, most=7) == 7


_minutes = st.sampled_from(["0", "30", "*/5", "*/20", "7,59"])
_hours = st.sampled_from(["*", "0", "1", "2", "3", "9", "23", "*/2"])
_days = st.sampled_from(
    ["* * *", "* * 1-5", "* * sun", "L * *", "29-31 * *", "1 */2 *", "13 * fri", "* * sat#2", "* * L5"]
)
_times = st.builds("{} {}".format, _minutes, _hours)
schedules = st.builds("{} {}".format, _times, _days).map(lambda line: Schedule(cron=line))


@settings(deadline=None, max_examples=200)
@given(zoned_moments(), _times)
@example(("Pacific/Apia", utc("2011-12-29 20:00")), "30 9")
@example(("Antarctica/Troll", utc("2026-03-28 20:00")), "*/20 *")
def test_fires_are_those_of_a_walk_through_the_minutes(zoned: tuple[str, datetime], times: str) -> None:
    zone, since = zoned
    schedule = Schedule(cron=f"{times} * * *")
    wanted, minute, expected = fire_minutes(schedule), timedelta(minutes=1), list[datetime]()
    walk = shown_before(zone, since=since, minutes=2500)
    for (_, before), (at, latest) in pairwise(walk.items()):
        passed = (before + minute * number for number in range(1, (latest - before) // minute + 1))
        if any(wall.hour * 60 + wall.minute in wanted for wall in passed):
            expected.append(at)
    found = next_fires(schedule, zone, after=since, count=len(expected) + 1)
    assert found[: len(expected)] == expected
    assert found[-1] > max(walk)


@settings(deadline=None, max_examples=200)
@given(zoned_moments(), schedules, st.integers(1, 12))
def test_what_is_counted_and_last_agrees_with_what_comes_next(
    zoned: tuple[str, datetime], schedule: Schedule, count: int
) -> None:
    zone, after = zoned
    found = next_fires(schedule, zone, after=after, count=count + 1)
    assert all(before < fire for before, fire in zip([after, *found], found, strict=False))
    assert next_fire(schedule, zone, after=found[0]) == found[1]
    *_, until, beyond = found
    for end in (until, beyond - timedelta(seconds=1)):
        assert last_fire(schedule, zone, after=after, until=end) == until
        assert count_fires(schedule, zone, after=after, until=end) == count
    assert last_fire(schedule, zone, after=until, until=beyond - timedelta(seconds=1)) is None


@settings(deadline=None, max_examples=100)
@given(zoned_moments(), st.integers(0, 1439))
def test_a_daily_fire_is_never_lost_and_never_twice_a_day(zoned: tuple[str, datetime], minute: int) -> None:
    name, after = zoned
    found = next_fires(daily(minute), name, after=after, count=8)
    days = [fire.astimezone(ZoneInfo(name)).date() for fire in found]
    assert all(later - earlier < timedelta(hours=37) for earlier, later in pairwise(found))
    assert len(set(days)) >= len(days) - 1


@pytest.mark.parametrize("year", [1, 1969, 3000, 9999])
def test_a_time_that_windows_could_not_be_reckoned_from_is_refused(year: int) -> None:
    with pytest.raises(UserError, match=f"The year {year} cannot be scheduled"):
        Schedule(datetime(year, 12, 31, 23, 59))  # noqa: DTZ001
