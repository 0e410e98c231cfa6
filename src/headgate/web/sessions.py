"""Sign-ins of people: a cookie with a token that only the browser keeps."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from fastapi import Request, Response

from headgate.kernel.settings import WebSettings
from headgate.storage import events, known_browsers, user_sessions
from headgate.storage.database import Tx
from headgate.storage.events import Event
from headgate.storage.user_sessions import NewSession
from headgate.web.parts import Site
from headgate.web.tokens import new_token, token_hash

COOKIE = "headgate_session"
BROWSER_COOKIE = "headgate_browser"
"""Outlives sessions: it signs nobody in, and only tells a browser that did before from a stranger's."""
SESSION_EVENT = "session"
"""Tells open streams of a user to see whether their sign-in still holds."""
_AGENT_LENGTH = 300


def client_address(request: Request) -> str:
    return request.client.host if request.client else ""


async def start_session(tx: Tx, site: Site, request: Request, user_id: UUID) -> str:
    """Sign a user in and return the token; a sign-in that the browser had before ends."""
    now = site.parts.real_clock.now()
    await user_sessions.delete_expired_sessions(tx, now=now)
    if before := request.cookies.get(COOKIE):
        known = await user_sessions.get_session(tx, token_hash(before), now=now)
        if known is not None:
            await end_session(tx, session_id=known.id, user_id=known.user_id)
    token = new_token()
    session = NewSession(
        id=site.parts.ids.new(),
        user_id=user_id,
        token_hash=token_hash(token),
        user_agent=request.headers.get("user-agent", "")[:_AGENT_LENGTH],
        address=client_address(request),
        expires_at=now + timedelta(days=site.parts.settings.session_days),
    )
    await user_sessions.insert_session(tx, session, now=now)
    return token


def browser_secret(request: Request) -> str:
    """Return what the browser's own cookie holds, if anything."""
    return request.cookies.get(BROWSER_COOKIE, "")


async def remember_browser(tx: Tx, site: Site, request: Request, user_id: UUID) -> str:
    """Note that a browser signed in; returns the new secret for its cookie."""
    secret = new_token()
    await known_browsers.remember_browser(
        tx,
        token_hash(secret),
        before=token_hash(browser_secret(request)),
        user_id=user_id,
        now=site.parts.real_clock.now(),
    )
    return secret


async def end_session(tx: Tx, *, session_id: UUID, user_id: UUID) -> bool:
    """End one sign-in and its streams."""
    ended = await user_sessions.delete_session(tx, session_id=session_id, user_id=user_id)
    await events.publish(tx, Event(SESSION_EVENT, audience=user_id))
    return ended


async def end_other_sessions(tx: Tx, *, user_id: UUID, keep_id: UUID | None) -> int:
    """End all sign-ins of a user but one, and their streams."""
    ended = await user_sessions.delete_other_sessions(tx, user_id=user_id, keep_id=keep_id)
    await events.publish(tx, Event(SESSION_EVENT, audience=user_id))
    return ended


def set_cookie(response: Response, token: str, settings: WebSettings) -> None:
    _set(response, COOKIE, token, timedelta(days=settings.session_days), settings)


def set_browser_cookie(response: Response, secret: str, settings: WebSettings) -> None:
    _set(response, BROWSER_COOKIE, secret, known_browsers.REMEMBERED_FOR, settings)


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
