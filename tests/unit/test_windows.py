"""Delivery windows: what they hold, and when they open and close, however the clocks are changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from zones import ZONES, changes, shown_before, zoned_moments

from headgate.domain.errors import UserError
from headgate.domain.reminders.windows import Stretch, Window, minute_text, parse_minute
from headgate.domain.wall_time import moment_of, wall_of

SECOND = timedelta(seconds=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(start: str, end: str, zone: str = "UTC") -> Window:
    return Window(parse_minute(start), parse_minute(end), zone)


def test_the_default_is_from_six_to_eighteen() -> None:
    assert Window() == window("06:00", "18:00")
    assert Window().text == "06:00–18:00"


@pytest.mark.parametrize(("text", "minute"), [("00:00", 0), ("6:05", 365), ("18:00", 1080), ("24:00", 1440)])
def test_a_time_of_day_is_read(text: str, minute: int) -> None:
    assert parse_minute(text) == minute
    assert parse_minute(minute_text(minute)) == minute


@pytest.mark.parametrize("text", ["", "6", "24:01", "12:60", "-1:00", "25:00", "06:00:00", "noon", "٠٦:٠٠"])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="Write it like 06:00"):
        parse_minute(text)


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (360, 360, "Use 00:00–24:00 for the whole day"),
        (1440, 600, "starts between 00:00 and 23:59"),
        (-1, 600, "starts between"),
        (1320, 0, "Midnight at its end is 24:00"),
        (0, 1441, "ends between"),
    ],
)
def test_a_window_that_means_nothing_is_refused(start: int, end: int, words: str) -> None:
    with pytest.raises(UserError, match=words):
        Window(start, end, "UTC")


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "", "America", "../etc/passwd", "Asia/Kuala Lumpur", "a\x00b"]
)
def test_an_unknown_zone_is_refused_with_how_names_look(zone: str) -> None:
    with pytest.raises(UserError, match="like Asia/Kuala_Lumpur") as refused:
        Window(zone=zone)
    assert repr(zone) in refused.value.message


def test_a_window_holds_its_start_and_not_its_end() -> None:
    assert [Window().holds(minute) for minute in (359, 360, 1079, 1080)] == [False, True, True, False]


def test_a_window_may_cross_midnight() -> None:
    night = window("22:00", "06:00")
    assert [night.holds(minute) for minute in (0, 359, 360, 1319, 1320)] == [True, True, False, False, True]
    over = Stretch(utc("2026-03-01 22:00"), utc("2026-03-02 06:00"))
    assert night.stretch(utc("2026-03-01 12:00")) == over
    assert night.stretch(utc("2026-03-02 05:59")) == over


def test_hour_24_is_the_end_of_the_day() -> None:
    evening = window("18:00", "24:00")
    assert evening.holds(1439)
    assert evening.stretch(utc("2026-03-01 20:00")).closes_at == utc("2026-03-02 00:00")


@pytest.mark.parametrize("zone", ZONES)
def test_the_whole_day_is_always_open_and_never_closes(zone: str) -> None:
    whole = window("00:00", "24:00", zone)
    for at in changes(zone):
        assert whole.is_open(at)
        assert whole.stretch(at) == Stretch(at, None)


def test_a_run_that_is_late_finds_the_window_of_its_own_day() -> None:
    kl = window("06:00", "18:00", "Asia/Kuala_Lumpur")
    assert kl.stretch(utc("2026-05-11 01:00")) == Stretch(utc("2026-05-10 22:00"), utc("2026-05-11 10:00"))
    assert kl.stretch(utc("2026-05-11 10:00")) == Stretch(utc("2026-05-11 22:00"), utc("2026-05-12 10:00"))


# In London the clock jumps from 01:00 to 02:00 on 29 March 2026, and from 02:00 back to 01:00 on 25 October.
@pytest.mark.parametrize(
    ("start", "end", "opens", "closes"),
    [
        ("01:30", "06:00", "2026-03-29 01:00", "2026-03-29 05:00"),
        ("00:30", "01:30", "2026-03-29 00:30", "2026-03-29 01:00"),
        ("01:10", "01:50", "2026-03-30 00:10", "2026-03-30 00:50"),
        ("01:50", "01:10", "2026-03-28 01:50", "2026-03-30 00:10"),
    ],
)
def test_a_wall_time_in_a_gap_is_the_jump(start: str, end: str, opens: str, closes: str) -> None:
    stretch = window(start, end, "Europe/London").stretch(utc("2026-03-29 00:00"))
    assert stretch == Stretch(utc(opens), utc(closes))


@pytest.mark.parametrize(
    ("start", "end", "opens", "closes"),
    [
        ("01:30", "06:00", "2026-10-25 00:30", "2026-10-25 06:00"),
        ("00:30", "01:30", "2026-10-24 23:30", "2026-10-25 00:30"),
        ("01:10", "01:50", "2026-10-25 00:10", "2026-10-25 00:50"),
    ],
)
def test_a_wall_time_in_a_fold_is_its_first(start: str, end: str, opens: str, closes: str) -> None:
    stretch = window(start, end, "Europe/London").stretch(utc("2026-10-24 23:00"))
    assert stretch == Stretch(utc(opens), utc(closes))


def test_a_day_that_was_left_out_has_no_window() -> None:
    apia = window("06:00", "18:00", "Pacific/Apia")
    eve = apia.stretch(utc("2011-12-30 00:00"))
    assert eve == Stretch(utc("2011-12-29 16:00"), utc("2011-12-30 04:00"))
    assert apia.stretch(utc("2011-12-30 04:00")).opens_at == utc("2011-12-30 16:00")


def differ(pair: tuple[int, int]) -> bool:
    return pair[0] != pair[1]


_minutes = st.integers(0, 1439)
_bounds = st.tuples(_minutes, st.integers(1, 1440)).filter(differ)


@settings(deadline=None, max_examples=150)
@given(zoned_moments(), _bounds)
@example(("Pacific/Apia", utc("2011-12-29 00:00")), (1320, 360))
@example(("Europe/London", utc("2026-03-28 20:00")), (110, 70))
@example(("Antarctica/Troll", utc("2026-10-24 20:00")), (100, 130))
def test_a_window_is_open_as_a_walk_through_the_minutes_finds_it(
    zoned: tuple[str, datetime], bounds: tuple[int, int]
) -> None:
    (zone, since), (start, end) = zoned, bounds
    walked = Window(start, end, zone)
    stretch = walked.stretch(since)
    for at, latest in shown_before(zone, since=since, minutes=2000).items():
        minute = latest.hour * 60 + latest.minute
        inside = start <= minute < end if start < end else not end <= minute < start
        assert walked.is_open(at) is inside
        if stretch.closes_at is not None and at >= stretch.closes_at:
            stretch = walked.stretch(at)
        assert (stretch.opens_at <= at) is inside


@settings(deadline=None, max_examples=150)
@given(zoned_moments(), _bounds)
@example(("Pacific/Apia", utc("2011-12-29 00:00")), (1320, 360))
def test_stretches_follow_each_other_and_never_touch(
    zoned: tuple[str, datetime], bounds: tuple[int, int]
) -> None:
    (zone, at), (start, end) = zoned, bounds
    followed = Window(start, end, zone)
    closed_at = None
    for _ in range(6):
        stretch = followed.stretch(at)
        assert stretch.closes_at is None or at < stretch.closes_at
        assert followed.is_open(stretch.opens_at)
        if stretch.closes_at is None:
            return
        assert stretch.opens_at < stretch.closes_at
        assert closed_at is None or closed_at < stretch.opens_at
        assert not followed.is_open(stretch.opens_at - SECOND)
        assert followed.is_open(stretch.closes_at - SECOND)
        assert not followed.is_open(stretch.closes_at)
        assert followed.stretch(stretch.opens_at) == followed.stretch(stretch.closes_at - SECOND) == stretch
        at = closed_at = stretch.closes_at


@settings(deadline=None)
@given(zoned_moments(), st.integers(-3000, 3000))
def test_a_wall_time_has_come_exactly_if_its_moment_has(zoned: tuple[str, datetime], minutes: int) -> None:
    name, at = zoned
    zone = ZoneInfo(name)
    wall = at.astimezone(zone).replace(tzinfo=None, fold=0) + timedelta(minutes=minutes)
    assert (moment_of(wall, zone) <= at) is (wall <= wall_of(at, zone))
    assert moment_of(wall, zone) <= moment_of(wall + SECOND, zone)
