"""When a reminder fires: once, or again and again, by the clock on the wall of its time zone.

A schedule is a wall time or a cron line, and is worked out on the wall first. Then each wall time becomes a
moment: one in a gap fires at the jump, one in a fold fires once, the first time (see `wall_time`). So
nothing fires twice and nothing is lost; wall times that one gap has swallowed together fire together, as
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile
from typing import Literal

from headgate.domain.cron import read_cron, walls_after, walls_until
from headgate.domain.errors import UserError
from headgate.domain.reminders.windows import DAY_MINUTES, Window, minute_text, parse_minute
from headgate.domain.wall_time import WEEKDAYS, find_zone, minute_of, moment_of, wall_of

FIRST_YEAR = 1970
LAST_YEAR = 2999
"""A later year is a typing error, and its windows must still be valid times."""
_CRON_DAYS = {name[:3].lower(): (place + 1) % 7 for place, name in enumerate(WEEKDAYS)}
_WORKING_DAYS = frozenset(range(1, 6))


@dataclass(frozen=True)
class Schedule:
    """A wall time, or a cron line of five fields: one of the two."""

    once: datetime | None = None
    cron: str = ""

    def __post_init__(self) -> None:
        if (self.once is None) == (not self.cron):
            raise UserError("A schedule is either one time or a repetition.", remedy="Choose one of the two.")
        if self.once is not None and self.once.tzinfo is not None:
            raise ValueError("the time of a schedule is a wall time, without a zone")
        if self.once is not None and not FIRST_YEAR <= self.once.year <= LAST_YEAR:
            raise UserError(
                f"The year {self.once.year} cannot be scheduled.",
                remedy=f"Choose one before the end of the year {LAST_YEAR}.",
            )
        if self.cron:
            read_cron(self.cron)


def daily(at: int | str) -> Schedule:
    """Every day; the time is a minute of the day or like 09:00."""
    return Schedule(cron=f"{_clock_fields(at)} * * *")


def weekdays(at: int | str) -> Schedule:
    """From Monday to Friday."""
    return Schedule(cron=f"{_clock_fields(at)} * * 1-5")


def weekly(days: Iterable[str], at: int | str) -> Schedule:
    """On days of the week, by their names: mon or Monday."""
    numbers = sorted({_day_number(day) for day in days}, key=lambda number: (number - 1) % 7)
    if not numbers:
        raise UserError("Choose a day of the week.", remedy="For example mon.")
    return Schedule(cron=f"{_clock_fields(at)} * * {','.join(map(str, numbers))}")


def monthly(day: int | Literal["last"], at: int | str) -> Schedule:
    """On a day of the month, or on its last. A day 31 passes over the shorter months, as in cron."""
    if day != "last" and not 1 <= day <= 31:
        raise UserError(f"A month has no day {day}.", remedy='Choose a day from 1 to 31, or "last".')
    return Schedule(cron=f"{_clock_fields(at)} {'L' if day == 'last' else day} * *")


def next_fire(schedule: Schedule, zone: str, *, after: datetime) -> datetime | None:
    """Return the first fire later than a moment, in UTC."""
    return next(_fires(schedule, zone, after=after), None)


def next_fires(schedule: Schedule, zone: str, *, after: datetime, count: int) -> list[datetime]:
    return list(islice(_fires(schedule, zone, after=after), count))


def last_fire(schedule: Schedule, zone: str, *, after: datetime, until: datetime) -> datetime | None:
    """Return the last fire later than `after` and not later than `until`, for what downtime has missed."""
    place = find_zone(zone)
    reached = wall_of(until, place)
    if schedule.once is not None:
        wall = schedule.once if schedule.once <= reached else None
    else:
        wall = next(walls_until(schedule.cron, reached), None)
    fire = None if wall is None else moment_of(wall, place)
    return fire if fire is not None and fire > after else None


def count_fires(schedule: Schedule, zone: str, *, after: datetime, until: datetime, most: int = 1000) -> int:
    """Count the fires later than `after` and not later than `until`, and stop counting at the most."""
    fires = takewhile(lambda fire: fire <= until, _fires(schedule, zone, after=after))
    return sum(1 for _ in islice(fires, most))


def _fires(schedule: Schedule, zone: str, *, after: datetime) -> Iterator[datetime]:
    """Yield the moments after one, strictly increasing."""
    place = find_zone(zone)
    reached = wall_of(after, place)
    if schedule.once is not None:
        walls = iter([schedule.once] if schedule.once > reached else [])
    else:
        walls = walls_after(schedule.cron, reached)
    for wall in walls:
        fire = moment_of(wall, place)
        if fire > after:
            yield fire
            after = fire


def fire_minutes(schedule: Schedule) -> set[int]:
    """Return the minutes of the day at which a schedule fires."""
    if schedule.once is not None:
        return {minute_of(schedule.once)}
    return set(read_cron(schedule.cron).minutes)


def check_fires(schedule: Schedule, window: Window) -> None:
    """Raise `UserError` if a fire time lies outside the window."""
    outside = sorted(minute for minute in fire_minutes(schedule) if not window.holds(minute))
    if not outside:
        return
    first, others = minute_text(outside[0]), len(outside) - 1
    subject = f"{first} is" if not others else f"{first} and {others} more of the fire times are"
    raise UserError(
        f"{subject} outside the delivery window {window.text}.",
        remedy="Choose a time inside the window, or a wider window.",
    )


def check_future(schedule: Schedule, zone: str, *, now: datetime) -> None:
    """Raise `UserError` if a schedule will never fire any more."""
    if next_fire(schedule, zone, after=now) is None:
        raise UserError(f"{describe(schedule)} ({zone}) is in the past.", remedy="Choose a later time.")


def describe(schedule: Schedule) -> str:
    """Return a schedule in words, as far as it is one of the plain choices."""
    if schedule.once is not None:
        return f"Once on {schedule.once:%Y-%m-%d} at {schedule.once:%H:%M}"
    cron = read_cron(schedule.cron)
    days = _describe_days(cron.day, cron.weekdays) if len(cron.minutes) == 1 and not cron.month else None
    return f"{days} at {minute_text(min(cron.minutes))}" if days else f"cron {cron.text}"


def _describe_days(day: str, weekdays: frozenset[int] | None) -> str | None:
    if weekdays is None:
        return None
    if day:
        named = "the last day" if day == "L" else f"day {day}" if day.isdecimal() else None
        return f"Monthly on {named}" if named and len(weekdays) == 7 else None
    if len(weekdays) == 7:
        return "Daily"
    if weekdays == _WORKING_DAYS:
        return "Weekdays"
    names = [name for place, name in enumerate(WEEKDAYS) if (place + 1) % 7 in weekdays]
    return f"Weekly on {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}"


def _clock_fields(at: int | str) -> str:
    minute = parse_minute(at) if isinstance(at, str) else at
    if not 0 <= minute < DAY_MINUTES:
        raise UserError("Times of day are from 00:00 to 23:59.", remedy="Midnight is 00:00 of the next day.")
    return f"{minute % 60} {minute // 60}"


def _day_number(day: str) -> int:
    name = day.strip().lower()
    number = _CRON_DAYS.get(name[:3])
    if number is None or name not in (name[:3], WEEKDAYS[(number - 1) % 7].lower()):
        raise UserError(f"{day!r} is not a day of the week.", remedy="Write it like mon or Monday.")
    return number
