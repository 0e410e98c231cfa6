"""Figures, sizes and times as pages show them: numbers stay together with their units."""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import urlencode

from headgate.domain.words import times

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
    return unbroken(times.size_text(size_bytes))


def relative(at: datetime, now: datetime) -> str:
    return unbroken(times.relative(at, now))


def share(part: float) -> str:
    return unbroken(times.share(part))


def unbroken(text: str) -> str:
    """Keep a number and its unit on one line."""
    return re.sub(r"(?<=\d) ", "\u00a0", text)


def outside(url: str) -> str:
    """Return an address if a browser may be sent there; else nothing."""
    return url if url.startswith(("https://", "http://")) else ""


def amount(number: int, thing: str) -> str:
    """Return a figure with its thing, which has a plain plural."""
    return f"{count(number)} {thing if number == 1 else thing + 's'}"


def label_query(kind: str, name: str) -> str:
    """Return the address of everything in the library that has a creator or tag."""
    return f"/?{urlencode({kind: name})}"


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
