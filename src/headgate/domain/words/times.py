"""Times as people say them."""

from __future__ import annotations

from datetime import datetime, timedelta

from headgate.domain.wall_time import find_zone

_STEPS = ("B", "kB", "MB", "GB", "TB", "PB")


def relative(at: datetime, now: datetime) -> str:
    """Return how long ago a time was, or how far ahead it is."""
    age = now - at
    amount = _amount(int(abs(age).total_seconds()))
    if not amount:
        return "just now" if age >= timedelta(0) else "now"
    return f"{amount} ago" if age > timedelta(0) else f"in {amount}"


def _amount(seconds: int) -> str:
    """Return a time in its largest unit; `app.js` keeps it up to date by the same rule."""
    if seconds < 10:
        return ""
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86400:
        return f"{seconds // 3600} h"
    days = seconds // 86400
    if days < 60:
        return f"{days} d"
    return f"{days // 30} months" if days < 730 else f"{days // 365} years"


def exact(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def wall(at: datetime, zone: str) -> str:
    """Return what the clock on a wall of the zone shows, with the day of the week."""
    return f"{at.astimezone(find_zone(zone)):%a %Y-%m-%d %H:%M}"


def day(at: datetime, zone: str, now: datetime) -> str:
    """Return the day on which something was, as people in the zone say it."""
    local, today = at.astimezone(find_zone(zone)).date(), now.astimezone(find_zone(zone)).date()
    if local == today:
        return "Today"
    if local == today - timedelta(days=1):
        return "Yesterday"
    return f"{local:%A}, {local.day} {local:%B}" + ("" if local.year == today.year else f" {local.year}")


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def share(part: float, *, complete: bool | None = None) -> str:
    """Return a share in per cent; it says 100 only if nothing is missing, and 0 only if nothing is there."""
    if part >= 1 if complete is None else complete:
        return "100 %"
    return "0 %" if part <= 0 else f"{min(99.9, max(0.1, part * 100)):.1f} %"


def size_text(size_bytes: int) -> str:
    """Return a size in at most four digits."""
    value = float(size_bytes)
    for step in _STEPS:
        if value < 999.5 or step == _STEPS[-1]:
            return f"{value:.0f} {step}" if step == "B" or value >= 99.95 else f"{value:.1f} {step}"
        value /= 1000
    raise AssertionError("the last step takes everything")
