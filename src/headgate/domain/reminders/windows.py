"""Delivery windows: the hours of the day in which a reminder may be sent.

A window is a start and an end on the wall, in a time zone. On each day it makes one *stretch* of time, from
the moment of its start to the moment of its end, which is no part of it. A wall time in a gap means the
moment at which the clock jumps, and one in a fold means its first occurrence (see `wall_time`). So a
stretch is always one piece, however the clock is changed; one that begins and ends in the same gap is empty
and is passed over; and two that a gap brings together are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from headgate.domain.errors import UserError
from headgate.domain.wall_time import find_zone, minute_of, moment_of, wall_of

DAY_MINUTES = 1440
DEFAULT_START = 360
DEFAULT_END = 1080

_MINUTE = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_DAY = timedelta(days=1)


def parse_minute(text: str) -> int:
    """Return the minute of the day of a text like 06:00; 24:00 is the end of the day."""
    found = _MINUTE.fullmatch(text.strip())
    minute = int(found[1]) * 60 + int(found[2]) if found and int(found[2]) < 60 else DAY_MINUTES + 1
    if minute > DAY_MINUTES:
        raise UserError(f"{text!r} is not a time of day.", remedy="Write it like 06:00, 18:30 or 24:00.")
    return minute


def minute_text(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


@dataclass(frozen=True)
class Stretch:
    """A time in which a window is open, in UTC; without an end for a window that never closes."""

    opens_at: datetime
    closes_at: datetime | None


@dataclass(frozen=True)
class Window:
    """A start and an end in minutes after midnight. An end before the start is on the next day.

    The whole day, 0 to 1440, is always open and never closes.
    """

    start: int = DEFAULT_START
    end: int = DEFAULT_END
    zone: str = "UTC"

    def __post_init__(self) -> None:
        find_zone(self.zone)
        if not 0 <= self.start < DAY_MINUTES:
            raise UserError(
                "A delivery window starts between 00:00 and 23:59.", remedy="Choose a start within the day."
            )
        if not 0 < self.end <= DAY_MINUTES:
            raise UserError(
                "A delivery window ends between 00:01 and 24:00.", remedy="Midnight at its end is 24:00."
            )
        if self.start == self.end:
            raise UserError(
                f"A delivery window cannot start and end at {minute_text(self.start)}.",
                remedy="Use 00:00–24:00 for the whole day.",
            )

    @property
    def is_whole_day(self) -> bool:
        return self.start == 0 and self.end == DAY_MINUTES

    @property
    def text(self) -> str:
        return f"{minute_text(self.start)}–{minute_text(self.end)}"

    def holds(self, minute_of_day: int) -> bool:
        """Tell whether a time of the day lies inside; the end does not."""
        if self.start < self.end:
            return self.start <= minute_of_day < self.end
        return minute_of_day >= self.start or minute_of_day < self.end

    def is_open(self, at: datetime) -> bool:
        return self.holds(minute_of(wall_of(at, find_zone(self.zone))))

    def stretch(self, at: datetime) -> Stretch:
        """Return the stretch that is open at a moment, or else the next one to open."""
        if self.is_whole_day:
            return Stretch(at.astimezone(UTC), None)
        zone = find_zone(self.zone)
        # Three days before, for one stretch can reach over a day that a gap has swallowed.
        stretches = self._stretches(at.astimezone(zone).date() - 3 * _DAY, zone)
        opens_at, closes_at = next(stretches)
        for next_opens_at, next_closes_at in stretches:
            if next_opens_at <= closes_at:
                closes_at = next_closes_at
            elif closes_at > at:
                break
            else:
                opens_at, closes_at = next_opens_at, next_closes_at
        return Stretch(opens_at, closes_at)

    def _stretches(self, day: date, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
        """Yield the stretches from a day on, without the empty ones."""
        while True:
            opens_at = moment_of(_wall(day, self.start), zone)
            closes_at = moment_of(_wall(day if self.start < self.end else day + _DAY, self.end), zone)
            if opens_at < closes_at:
                yield opens_at, closes_at
            day += _DAY


def _wall(day: date, minute: int) -> datetime:
    return datetime.combine(day, time()) + timedelta(minutes=minute)
