"""Requests that change something must come from our own pages."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import HTTPException, Request

from headgate.access.tokens import same
from headgate.kernel.settings import WebSettings
from headgate.web.callers import Caller
from headgate.web.typed import read_form

HEADER = "x-csrf-token"
FIELD = "csrf_token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def check_origin(request: Request, settings: WebSettings) -> None:
    """Refuse an unsafe request that a browser says comes from another site.

    Programs send neither header and pass; they carry no cookie of a person either.
    """
    if request.method in SAFE_METHODS:
        return
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "This request came from another site.")
    origin = request.headers.get("origin")
    if origin is None:
        return
    own = {f"{request.url.scheme}://{request.headers.get('host', '')}"}
    if settings.public_url:
        own.add(origin_of(settings.public_url))
    if origin not in own:
        raise HTTPException(403, "This request came from another site.")


async def check_csrf(request: Request, caller: Caller) -> None:
    """Refuse an unsafe request of a session that does not carry the session's form token."""
    if request.method in SAFE_METHODS:
        return
    given = request.headers.get(HEADER)
    if given is None and request.headers.get("content-type", "").startswith(_FORMS):
        field = (await read_form(request)).get(FIELD)
        given = field if isinstance(field, str) else None
    if not given or not same(given, caller.csrf_token):
        raise HTTPException(403, "This form is outdated. Load the page again and repeat what you did.")
