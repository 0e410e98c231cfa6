"""Cron lines: five fields that say at which minutes of which days something happens.

They are understood as everywhere: minute, hour, day of the month, month, day of the week. If both days are
given, either is enough. A day 31 passes over the shorter months; `L` is the last day of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import cast

from croniter import CroniterError, croniter

from headgate.domain.errors import UserError

MIN_APART_MINUTES = 5
EXAMPLE = "An example: 0 9 * * mon-fri (at 09:00 from Monday to Friday)."

_FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
_DAY_MINUTES = 1440
# The library would draw a different time by lot at each reading.
_BY_LOT = re.compile(r"(?<![a-z])[hr](?![a-z])", re.IGNORECASE)
_LEAP_YEAR = datetime(2024, 1, 1)  # noqa: DTZ001


@dataclass(frozen=True)
class Cron:
    """A line that was understood; a field without values means each."""

    text: str
    minutes: frozenset[int]
    """The minutes of the day."""
    day: str
    """The day of the month: a number, L, or empty for each; or something else as it was written."""
    month: str
    weekdays: frozenset[int] | None
    """Sunday is 0. None: not only days of the week."""


@lru_cache(maxsize=1024)
def read_cron(line: str) -> Cron:
    """Return what a line means; raise `UserError` if it means nothing, or happens too often."""
    fields = line.split()
    if len(fields) != len(_FIELDS):
        raise UserError(
            f"A cron line has 5 fields ({', '.join(_FIELDS)}), and {line!r} has {len(fields)}.",
            remedy=EXAMPLE,
        )
    for place, field in enumerate(fields):
        if _BY_LOT.search(field) or not _is_understood(["*"] * place + [field] + ["*"] * (4 - place)):
            raise UserError(f"The {_FIELDS[place]} {field!r} of the cron line is wrong.", remedy=EXAMPLE)
    cron = _expand(fields)
    _check_distance(cron)
    if next(walls_after(cron.text, _LEAP_YEAR), None) is None:
        raise UserError(f"{line!r} never happens: there is no such day.", remedy=EXAMPLE)
    return cron


def walls_after(line: str, wall: datetime) -> Iterator[datetime]:
    """Yield the wall times of a line that are later than one, in order."""
    return _walk(croniter(line, wall), back=False)


def walls_until(line: str, wall: datetime) -> Iterator[datetime]:
    """Yield the wall times of a line up to one, the latest first."""
    return _walk(croniter(line, wall + timedelta(microseconds=1)), back=True)


def _walk(steps: croniter, *, back: bool) -> Iterator[datetime]:
    while True:
        try:
            yield steps.get_prev(datetime) if back else steps.get_next(datetime)
        except CroniterError:
            return


def _is_understood(fields: list[str]) -> bool:
    try:
        croniter.expand(" ".join(fields))
    except CroniterError:
        return False
    return True


def _expand(fields: list[str]) -> Cron:
    expanded, places = croniter.expand(" ".join(fields))
    minutes, hours, days, months, weekdays = cast("list[list[int | str]]", expanded)
    return Cron(
        text=" ".join(fields),
        minutes=frozenset(hour * 60 + minute for hour in _each(hours, 24) for minute in _each(minutes, 60)),
        day="" if days == ["*"] else fields[2].upper(),
        month="" if months == ["*"] else fields[3],
        weekdays=None if places else frozenset(_each(weekdays, 7)),
    )


def _each(values: list[int | str], count: int) -> list[int]:
    return list(range(count)) if "*" in values else [int(value) for value in values]


def _check_distance(cron: Cron) -> None:
    minutes = sorted(cron.minutes)
    following = [*minutes[1:], minutes[0] + _DAY_MINUTES]
    if any(after - before < MIN_APART_MINUTES for before, after in zip(minutes, following, strict=True)):
        raise UserError(
            f"{cron.text!r} runs more often than every {MIN_APART_MINUTES} minutes.",
            remedy=f"Run it at most every {MIN_APART_MINUTES} minutes, like */5 9-17 * * *.",
        )
