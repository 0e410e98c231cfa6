"""How figures, sizes and times are worded on pages."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from headgate.domain.wall_time import find_zone

_STEPS = ("B", "kB", "MB", "GB", "TB", "PB")
_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("Windows", "Windows"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def count(value: int, cap: int | None = None) -> str:
    """Return a figure with thin spaces between thousands; past a cap only that there are more."""
    if cap is not None and value > cap:
        return f"{count(cap)}+"
    return f"{value:,}".replace(",", "\u202f")


def size(size_bytes: int) -> str:
    """Return a size in at most four digits."""
    value = float(size_bytes)
    for step in _STEPS:
        if value < 999.5 or step == _STEPS[-1]:
            return f"{value:.0f}\u00a0{step}" if step == "B" or value >= 99.95 else f"{value:.1f}\u00a0{step}"
        value /= 1000
    raise AssertionError("the last step takes everything")


def share(part: float) -> str:
    """Return a share in per cent; it says 100 only if nothing is missing, and 0 only if nothing is there."""
    if part >= 1:
        return "100\u00a0%"
    if part <= 0:
        return "0\u00a0%"
    return f"{min(max(part * 100, 0.1), 99.9):.1f}\u00a0%"


def relative(at: datetime, now: datetime) -> str:
    """Return how long ago a time was, or how far ahead it is."""
    age = now - at
    amount = _amount(abs(age))
    if not amount:
        return "just now" if age >= timedelta(0) else "now"
    return f"{amount} ago" if age > timedelta(0) else f"in {amount}"


def _amount(age: timedelta) -> str:
    seconds = int(age.total_seconds())
    if seconds < 10:
        return ""
    if seconds < 60:
        return f"{seconds}\u00a0s"
    if seconds < 3600:
        return f"{seconds // 60}\u00a0min"
    if seconds < 86400:
        return f"{seconds // 3600}\u00a0h"
    days = seconds // 86400
    if days < 60:
        return f"{days}\u00a0d"
    return f"{days // 30}\u00a0months" if days < 730 else f"{days // 365}\u00a0years"


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


def outside(url: str) -> str:
    """Return an address if a browser may be sent there; else nothing."""
    return url if url.startswith(("https://", "http://")) else ""


def amount(number: int, thing: str) -> str:
    """Return a figure with its thing, which has a plain plural."""
    return f"{count(number)} {thing if number == 1 else thing + 's'}"


def latency(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{milliseconds:.0f}\u00a0ms"
    return f"{milliseconds / 1000:.1f}\u00a0s"


def browser(user_agent: str) -> str:
    """Return what a person recognises of a user agent."""
    if not user_agent:
        return "Unknown browser"
    name = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if not name:
        return re.split(r"[\s/]", user_agent, maxsplit=1)[0][:40]
    return f"{name} on {system}" if system else name
