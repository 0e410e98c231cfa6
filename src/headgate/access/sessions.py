"""Sessions of users, the browsers that they signed in with, and the use of API tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from headgate.access.tokens import new_token, token_hash
from headgate.storage import events
from headgate.storage.access import api_tokens, known_browsers, user_sessions
from headgate.storage.access.api_tokens import ApiToken
from headgate.storage.access.user_sessions import NewSession, Session
from headgate.storage.database import Tx
from headgate.storage.events import Event

if TYPE_CHECKING:
    from headgate.access.users import Access

SESSION_EVENT = "session"
"""Tells open streams of a user to see whether their sign-in still holds."""
MAX_AGENT_LENGTH = 300
TOUCH_AFTER = timedelta(minutes=1)
"""Uses closer together than this are one, so that a busy page does not write with every request."""


@dataclass(frozen=True)
class Browser:
    """Where a person signs in from."""

    address: str
    user_agent: str = ""
    session_token: str = ""
    """Of the session that it has already, if any."""
    secret: str = ""
    """Tells a browser that signed in before from a stranger's; it does not sign in."""


async def start_session(tx: Tx, access: Access, browser: Browser, user_id: UUID, *, days: int) -> str:
    """Sign a user in and return the token; the browser's session of before ends."""
    now = access.clock.now()
    await user_sessions.delete_expired_sessions(tx, now=now)
    if browser.session_token:
        known = await user_sessions.get_session(tx, token_hash(browser.session_token), now=now)
        if known is not None:
            await end_session(tx, session_id=known.id, user_id=known.user_id)
    token = new_token()
    session = NewSession(
        id=access.ids.new(),
        user_id=user_id,
        token_hash=token_hash(token),
        user_agent=browser.user_agent[:MAX_AGENT_LENGTH],
        address=browser.address,
        expires_at=now + timedelta(days=days),
    )
    await user_sessions.insert_session(tx, session, now=now)
    return token


async def use_session(tx: Tx, token: str, *, now: datetime) -> Session | None:
    """Return the session of a token, and note that it is in use."""
    session = await user_sessions.get_session(tx, token_hash(token), now=now)
    if session is not None and now - session.last_seen_at > TOUCH_AFTER:
        await user_sessions.touch_session(tx, session.id, now=now)
    return session


async def use_api_token(tx: Tx, token: str, *, now: datetime) -> ApiToken | None:
    """Return what is known of an API token, and note that it is in use."""
    known = await api_tokens.get_api_token(tx, token_hash(token), now=now)
    if known is not None and (known.last_used_at is None or now - known.last_used_at > TOUCH_AFTER):
        await api_tokens.touch_api_token(tx, known.id, now=now)
    return known


async def remember_browser(tx: Tx, access: Access, browser: Browser, user_id: UUID) -> str:
    """Note that a browser signed in; return the new secret for its cookie."""
    secret = new_token()
    await known_browsers.remember_browser(
        tx, token_hash(secret), before=token_hash(browser.secret), user_id=user_id, now=access.clock.now()
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
