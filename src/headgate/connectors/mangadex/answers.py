"""What holds of every answer, of the API and of the sign-in alike: its size, its time, its refusals."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import cast

import httpx

from headgate import __version__
from headgate.connectors.mangadex.errors import ApiRefused, Blocked, MangaDexError, NotUnderstood, TooMany
from headgate.connectors.mangadex.shapes import Shape

USER_AGENT = f"Headgate/{__version__} (follows series for the people of one household)"

_MAX_BYTES = 32 * 1024 * 1024
_MAX_WAIT_S = 3600.0
_USUAL_WAIT_S = 60.0
_MIN_UNIX_TIME = 1_000_000_000


def new_client(*, timeout_s: float, certificates: ssl.SSLContext) -> httpx.AsyncClient:
    """Return a client that says honestly who asks."""
    headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
    return httpx.AsyncClient(timeout=timeout_s, headers=headers, verify=certificates)


async def read_body(response: httpx.Response) -> bytes:
    """Read an answer up to a size that no honest one has."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _MAX_BYTES:
            raise NotUnderstood(f"the answer of MangaDex is larger than {_MAX_BYTES} bytes")
    return bytes(body)


def content_of(body: bytes) -> Shape | None:
    """Return the JSON object of an answer, or None where there is none: a page for people, half an answer."""
    try:
        content: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("Shape", content) if isinstance(content, dict) else None


def server_time(headers: Mapping[str, str]) -> datetime | None:
    """Return the server's time, where it tells one that makes sense."""
    try:
        return parsedate_to_datetime(headers.get("date", "")).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def wait_of(headers: Mapping[str, str], *, now: datetime) -> float:
    """Return how long the server asks to wait: a second at least, an hour at most."""
    until = headers.get("x-ratelimit-retry-after", "").strip()
    after = headers.get("retry-after", "").strip()
    wait_s = _USUAL_WAIT_S
    if until.isdecimal() and float(until) >= _MIN_UNIX_TIME:
        wait_s = float(until) - now.timestamp()
    elif after.isdecimal() or until.isdecimal():
        wait_s = float(after if after.isdecimal() else until)
    elif after and (at := server_time({"date": after})) is not None:
        wait_s = (at - now).total_seconds()
    return min(max(wait_s, 1.0), _MAX_WAIT_S)


def refused_by_address(
    response: httpx.Response, *, now: datetime, in_own_words: bool
) -> MangaDexError | None:
    """Return a refusal that has nothing to do with who asks, or what for; None where the words tell more."""
    status = response.status_code
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return TooMany(wait_of(response.headers, now=now))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status < HTTPStatus.BAD_REQUEST:
        return ApiRefused(status, f"MangaDex answered with status {status} instead of an answer")
    if in_own_words:
        return None
    if status in (HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED):
        return Blocked("a wall in front of MangaDex keeps this address out")
    # Something else answered in its place, so that even "not found" says nothing.
    return NotUnderstood(f"status {status} came without MangaDex's own words")
