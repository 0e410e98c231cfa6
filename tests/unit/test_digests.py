"""Telling people: quiet hours in their time zone, and many notifications as one digest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zones import zoned_moments

from headgate.domain.notifications.digests import NewsLine, PushMessage, compose, is_quiet, quiet_ends_at

pytestmark = pytest.mark.once

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LONDON = ZoneInfo("Europe/London")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def chapters(series: str, *numbers: str) -> list[NewsLine]:
    """Return a line for each number, the last one the newest."""
    return [
        NewsLine(
            series,
            f"Chapter {number}: T{number}",
            f"https://x.test/{number}",
            NOW + timedelta(hours=place),
            number,
        )
        for place, number in enumerate(numbers)
    ]


def items(channel: str, count: int, *, at: datetime = NOW) -> list[NewsLine]:
    return [
        NewsLine(
            channel,
            f"pack {number}",
            f"https://x.test/{number}",
            at + timedelta(minutes=number),
            is_chapter=False,
        )
        for number in range(count)
    ]


def body(*lines: NewsLine, limit: int = 1000) -> str:
    return compose(lines, limit=limit).body


@pytest.mark.parametrize(
    ("at", "ends_at"),
    [
        ("2026-01-10T21:59", None),
        ("2026-01-10T22:00", "2026-01-11T07:00"),
        ("2026-01-11T03:00", "2026-01-11T07:00"),
        ("2026-01-11T07:00", None),
        # The clocks are put forward at 01:00 on the 29th: the night ends an hour earlier in UTC.
        ("2026-03-28T23:00", "2026-03-29T06:00"),
        ("2026-07-01T21:00", "2026-07-02T06:00"),
    ],
)
def test_quiet_hours_cross_midnight_on_the_clock_of_the_user(at: str, ends_at: str | None) -> None:
    hours = {"quiet_from_min": 22 * 60, "quiet_to_min": 7 * 60}
    assert quiet_ends_at(utc(at), zone=LONDON, **hours) == (utc(ends_at) if ends_at else None)
    assert is_quiet(utc(at), zone=LONDON, **hours) is (ends_at is not None)


def test_quiet_hours_that_end_in_a_gap_end_when_the_clock_jumps() -> None:
    hours = {"quiet_from_min": 0, "quiet_to_min": 90}
    assert quiet_ends_at(utc("2026-03-29T00:30"), zone=LONDON, **hours) == utc("2026-03-29T01:00")


def test_an_hour_that_the_clock_shows_twice_ends_the_quiet_once() -> None:
    hours = {"quiet_from_min": 0, "quiet_to_min": 90}
    assert quiet_ends_at(utc("2026-10-24T23:10"), zone=LONDON, **hours) == utc("2026-10-25T00:30")
    assert not is_quiet(utc("2026-10-25T01:10"), zone=LONDON, **hours)


@pytest.mark.parametrize(
    ("start", "end"), [(None, None), (None, 60), (60, None), (60, 60), (0, 0), (0, 1440)]
)
def test_without_hours_or_with_equal_ends_it_is_never_quiet(start: int | None, end: int | None) -> None:
    assert not is_quiet(NOW, zone=LONDON, quiet_from_min=start, quiet_to_min=end)
    assert quiet_ends_at(NOW, zone=LONDON, quiet_from_min=start, quiet_to_min=end) is None


@given(zoned_moments(), st.integers(0, 1440), st.integers(0, 1440))
def test_it_is_quiet_exactly_until_the_end_that_is_told(
    moment: tuple[str, datetime], start: int, end: int
) -> None:
    name, at = moment
    zone = ZoneInfo(name)
    ends_at = quiet_ends_at(at, zone=zone, quiet_from_min=start, quiet_to_min=end)
    assert is_quiet(at, zone=zone, quiet_from_min=start, quiet_to_min=end) is (ends_at is not None)
    if ends_at is not None:
        assert at < ends_at
        assert not is_quiet(ends_at, zone=zone, quiet_from_min=start, quiet_to_min=end)


def test_one_notification_is_itself() -> None:
    assert compose(chapters("One Piece", "45"), limit=1000) == PushMessage(
        "One Piece", "Chapter 45: T45\nhttps://x.test/45"
    )


def test_many_of_one_series_are_told_as_a_range_with_the_link_of_the_newest() -> None:
    assert compose(chapters("One Piece", "41", "42", "43", "44", "45"), limit=1000) == PushMessage(
        "One Piece: 5 new chapters", "Chapters 41–45\nhttps://x.test/45"
    )


def test_several_series_are_one_digest_newest_first() -> None:
    lines = [*chapters("One Piece", "41", "42", "43", "44"), *chapters("Berserk", "7")]
    assert compose(lines, limit=1000) == PushMessage(
        "5 new chapters in 2 series", "One Piece: chapters 41–44\nBerserk: Chapter 7: T7"
    )


def test_series_and_channels_are_counted_each_in_their_words() -> None:
    lines = [*chapters("One Piece", "41"), *items("Packs", 497, at=NOW - timedelta(days=1))]
    assert compose(lines, limit=1000) == PushMessage(
        "1 new chapter in 1 series and 497 new items in 1 channel",
        "One Piece: Chapter 41: T41\nPacks: pack 496 and 496 more",
    )


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (("41", "43"), "Chapters 41, 43"),
        (("9", "10", "11", "40"), "Chapters 9–11, 40"),
        (("45", "44"), "Chapters 44–45"),
        (("44", "45", "45.5", "46"), "Chapters 44–46"),
        (("44", "45.5"), "Chapters 44, 45.5"),
        (("1", "3", "5", "7", "9"), "Chapter 9: T9 and 4 more"),
        (tuple(str(number) for number in range(1, 501)), "Chapters 1–500"),
    ],
)
def test_only_what_follows_each_other_is_a_range(numbers: tuple[str, ...], words: str) -> None:
    assert body(*chapters("Foo", *numbers)).split("\n")[0] == words


def test_what_has_no_number_is_counted_with_the_rest() -> None:
    extra = NewsLine("Foo", "Extra", "", NOW - timedelta(days=1))
    assert body(*chapters("Foo", "1", "2"), extra).startswith("Chapters 1–2 and 1 more")


def test_a_chapter_of_several_sources_is_told_once() -> None:
    assert compose([*chapters("Foo", "1"), *chapters("Foo", "1")], limit=1000).title == "Foo"


def test_what_does_not_fit_is_counted() -> None:
    lines = [line for number in range(50) for line in chapters(f"Series {number}", "1", "2")]
    told = body(*lines, limit=120)
    assert told.endswith("more in 48 other series")
    assert body(*lines).endswith("and 60 more in 30 other series")
    one_left = [*chapters("A", "1"), *items("B" * 60, 1, at=NOW - timedelta(days=9))]
    assert body(*one_left, limit=130).endswith("and 1 more in 1 other channel")


def test_nothing_is_told_of_nothing() -> None:
    assert compose([], limit=100) == PushMessage("", "")


LINES = st.builds(
    NewsLine,
    st.sampled_from(["One Piece", "Berserk", "x" * 300, "", "A\nB"]),
    st.text(max_size=40),
    st.sampled_from(["", "https://x.test/1", "https://x.test/" + "y" * 300]),
    st.integers(0, 9999).map(lambda minutes: NOW + timedelta(minutes=minutes)),
    st.sampled_from(["", "1", "2", "3", "4.5", "5a", "6-7", "-1"]),
    st.booleans(),
)


@given(st.lists(LINES, max_size=60), st.integers(0, 500))
def test_a_message_keeps_its_limit_and_tells_no_half_link(lines: list[NewsLine], limit: int) -> None:
    message = compose(lines, limit=limit)
    assert len(message.title) + len(message.body) <= limit
    last = message.body.rpartition("\n")[2]
    assert not last.startswith("https://") or any(line.url == last or line.text == last for line in lines)
