"""Wall time and moments: what a clock on a wall in some zone shows, and when.

Clocks are put forward and back. Here a wall time means the first moment at which the clock shows it or a
later time. So one that a clock jumps over (in a gap) means the moment of the jump, and one that it shows
twice (in a fold) means the first of the two. Every wall time means exactly one moment, and a later wall
time never an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from headgate.domain.errors import UserError

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@cache
def find_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name."""
    try:
        return ZoneInfo(name)
    # A name can also be of a folder, or no name of a file at all.
    except (KeyError, ValueError, OSError):
        raise UserError(
            f"There is no time zone {name!r}.",
            remedy="Names are a region and a city, like Asia/Kuala_Lumpur or Europe/London, or UTC.",
        ) from None


@cache
def list_zones() -> Sequence[str]:
    """Return the names of all time zones that people would look for."""
    return sorted(name for name in available_timezones() if "/" in name or name == "UTC")


def moment_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment, in UTC, at which the clock shows a wall time or a later one."""
    moment = _utc(wall, zone, fold=0)
    if _shown(moment, zone) == wall:
        return moment
    before = _utc(wall, zone, fold=1)
    return _first(lambda at: _shown(at, zone) >= wall, after=before, until=moment)


def wall_of(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the latest wall time that the clock has shown up to a moment.

    This is what the clock shows, but when it shows a time again after it was put back: then it is the last
    that was shown before. A wall time lies at or before it exactly if its moment does.
    """
    shown = moment.astimezone(zone)
    wall = shown.replace(tzinfo=None, fold=0)
    if not shown.fold:
        return wall
    first = _utc(wall, zone, fold=0)
    put_back_at = _first(lambda at: bool(at.astimezone(zone).fold), after=first, until=moment.astimezone(UTC))
    last = put_back_at - timedelta(microseconds=1)
    return _shown(last, zone)


def minute_of(wall: datetime) -> int:
    """Return the minute of the day."""
    return wall.hour * 60 + wall.minute


def _utc(wall: datetime, zone: ZoneInfo, *, fold: int) -> datetime:
    return wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def _shown(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def _first(holds: Callable[[datetime], bool], *, after: datetime, until: datetime) -> datetime:
    """Return the first full second from which something holds; at the end it does, at the start not."""
    base = after.replace(microsecond=0)
    low, high = 0, -int((base - until) // timedelta(seconds=1))
    while high - low > 1:
        middle = (low + high) // 2
        if holds(base + timedelta(seconds=middle)):
            high = middle
        else:
            low = middle
    return base + timedelta(seconds=high)
