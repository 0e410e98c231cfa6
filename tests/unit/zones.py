"""Time zones whose clocks do all that clocks do, and the moments at which they are changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

ZONES = (
    "Africa/Casablanca",  # Put back for Ramadan, and forward again.
    "America/New_York",
    "America/Santiago",  # Changed at midnight, in the southern summer.
    "America/Sao_Paulo",  # Changed at midnight, until 2019.
    "America/St_Johns",
    "Antarctica/Troll",  # By two hours.
    "Asia/Kathmandu",
    "Asia/Kuala_Lumpur",
    "Asia/Tehran",  # At midnight, until 2022.
    "Australia/Lord_Howe",  # By half an hour.
    "Europe/London",
    "Pacific/Apia",  # Had no 30 December 2011.
    "Pacific/Auckland",
    "Pacific/Chatham",
    "UTC",
)
FIRST = datetime(2010, 1, 1, tzinfo=UTC)
LAST = datetime(2034, 1, 1, tzinfo=UTC)


@cache
def changes(name: str) -> tuple[datetime, ...]:
    """Return the hours in which the clock of a zone is changed."""
    days = [FIRST + timedelta(days=number) for number in range((LAST - FIRST).days)]
    return tuple(
        hour
        for day in _changed(name, days, timedelta(days=1))
        for hour in _changed(
            name, [day + timedelta(hours=number) for number in range(24)], timedelta(hours=1)
        )
    )


def _changed(name: str, starts: list[datetime], length: timedelta) -> list[datetime]:
    zone = ZoneInfo(name)
    return [
        at for at in starts if at.astimezone(zone).utcoffset() != (at + length).astimezone(zone).utcoffset()
    ]


@st.composite
def zoned_moments(draw: st.DrawFn) -> tuple[str, datetime]:
    """Draw a zone and a full minute, mostly within two days of a change of its clock."""
    name = draw(st.sampled_from(ZONES))
    near = changes(name)
    if near and draw(st.integers(0, 3)):
        return name, draw(st.sampled_from(near)) + timedelta(minutes=draw(st.integers(-2880, 2880)))
    return name, FIRST + timedelta(minutes=draw(st.integers(0, (LAST - FIRST) // timedelta(minutes=1))))


def shown_before(name: str, *, since: datetime, minutes: int) -> dict[datetime, datetime]:
    """Walk through the minutes: the latest time that the clock has shown up to each of them.

    A clock that is put back has shown later times already, and what it shows again is not new.
    """
    zone, walk = ZoneInfo(name), dict[datetime, datetime]()
    latest = (since - timedelta(days=3)).replace(tzinfo=None)
    for number in range(-1800, minutes):
        at = since + timedelta(minutes=number)
        latest = max(latest, at.astimezone(zone).replace(tzinfo=None))
        if number >= 0:
            walk[at] = latest
    return walk
