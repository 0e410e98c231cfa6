"""What an answer says besides its body: that it failed and how, and how long to leave the source alone."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from headgate.domain.errors import Absent, Gone, Malformed, RateLimited, Transient, WorkError
from headgate.kernel.logs import mask_url

MAX_REST_S = 86400.0
_DEFAULT_WAIT_S = 60.0
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,12})", re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[\s,])no-(?:cache|store)\b", re.IGNORECASE)
_PERIODS_S = {"hourly": 3600, "daily": 86400, "weekly": 604800, "monthly": 2592000, "yearly": 31536000}

# Neither AuthFailed nor Restricted: they would stop the account, which is the same for all feeds.
_REFUSALS = {
    401: "asks for a sign-in; one can stand in the address, as https://name:password@host/",
    403: "refuses to let us read",
    407: "wants us to go through a proxy",
    451: "may not be shown for legal reasons",
}
_COMES_BACK = {
    404: "is not there at the moment",
    408: "found us too slow",
    421: "came from the wrong server",
    425: "asks to come later",
}


def failure_of(status: int, headers: Mapping[str, str], *, place: object, now: datetime) -> WorkError:
    """Return what a status other than success means for one feed, and for no other."""
    wait_s = retry_after_s(headers, now)
    if status == 429 or (status == 503 and wait_s is not None):
        capped = ", for longer than a day; a day is waited" if wait_s == MAX_REST_S else ""
        message = f"{place} asks to wait ({status}){capped}"
        return RateLimited(message, retry_after_s=wait_s or _DEFAULT_WAIT_S)
    if status == 410:
        return Gone(f"{place} is gone for good, says its server (410)")
    if status in _COMES_BACK:
        return Absent(f"{place} {_COMES_BACK[status]} ({status})")
    if status >= 500:
        return Transient(f"the server of {place} has failed ({status})")
    return Malformed(f"{place} {_REFUSALS.get(status, 'answers with something unexpected')} ({status})")


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return how long to wait, from seconds or a date; at least a second, and a day at most."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    seconds = float(value) if re.fullmatch(r"\d{1,12}", value) else _seconds_until(value, headers, now)
    return None if seconds is None else min(max(seconds, 1.0), MAX_REST_S)


def cached_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return how long the answer holds, by Cache-Control or else Expires."""
    control = headers.get("cache-control", "")
    if _NOT_KEPT.search(control):
        return None
    if found := _MAX_AGE.search(control):
        return float(found[1])
    return _seconds_until(headers.get("expires", ""), headers, now)


def _seconds_until(value: str, headers: Mapping[str, str], now: datetime) -> float | None:
    """Count from the server's own clock where it tells it: ours may differ."""
    until = http_date(value)
    return None if until is None else (until - (http_date(headers.get("date", "")) or now)).total_seconds()


def http_date(value: str) -> datetime | None:
    if not value or len(value) > 100:
        return None
    try:
        found = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def told_rest_s(*, ttl: str, period: str, frequency: str) -> float | None:
    """Return the rest that a document itself asks for: RSS `ttl` in minutes, or how often it is updated."""
    rests = [_number(ttl) * 60]
    if period.lower() in _PERIODS_S:
        rests.append(_PERIODS_S[period.lower()] / max(_number(frequency), 1.0))
    return longest(*rests)


def longest(*rests_s: float | None) -> float | None:
    """Return the longest of what is asked for, a day at most; nothing where nothing is."""
    asked = [rest for rest in rests_s if rest is not None and rest > 0]
    return min(max(asked), MAX_REST_S) if asked else None


def _number(text: str) -> float:
    try:
        number = float(text[:20])
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def classify(error: BaseException) -> WorkError:
    """Turn any exception into one of our errors, in plain words without any address."""
    match error:
        case WorkError():
            return error
        case TimeoutError():
            return Transient("no answer came in time")
        case httpx.InvalidURL():
            return Malformed("this is not an address of the web")
        case _:
            return Transient(mask_url(str(error)) or type(error).__name__)
