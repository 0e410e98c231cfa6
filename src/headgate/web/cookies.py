"""Cookies: the session, and the secret by which a browser is recognised."""

from __future__ import annotations

from datetime import timedelta

from fastapi import Request, Response

from headgate.access.sessions import Browser
from headgate.kernel.settings import WebSettings
from headgate.storage.access.known_browsers import REMEMBERED_FOR

COOKIE = "headgate_session"
BROWSER_COOKIE = "headgate_browser"
"""Outlives sessions: it signs nobody in, and only tells a browser that did before from a stranger's."""


def browser_of(request: Request) -> Browser:
    """Return the browser that a request comes from."""
    return Browser(
        address=request.client.host if request.client else "",
        user_agent=request.headers.get("user-agent", ""),
        session_token=request.cookies.get(COOKIE, ""),
        secret=request.cookies.get(BROWSER_COOKIE, ""),
    )


def set_cookie(response: Response, token: str, settings: WebSettings) -> None:
    _set(response, COOKIE, token, timedelta(days=settings.session_days), settings)


def set_browser_cookie(response: Response, secret: str, settings: WebSettings) -> None:
    _set(response, BROWSER_COOKIE, secret, REMEMBERED_FOR, settings)


def _set(response: Response, name: str, value: str, age: timedelta, settings: WebSettings) -> None:
    response.set_cookie(
        name,
        value,
        max_age=int(age.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=settings.public_url.startswith("https://"),
        path="/",
    )


def clear_cookie(response: Response, settings: WebSettings) -> None:
    response.delete_cookie(
        COOKIE,
        httponly=True,
        samesite="lax",
        secure=settings.public_url.startswith("https://"),
        path="/",
    )
