"""Who is asking: a person with a session, or a program with an API token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, cast
from uuid import UUID

from fastapi import Depends, HTTPException, Request

from headgate.access.sessions import use_api_token, use_session
from headgate.access.tokens import csrf_token
from headgate.outflow.notifications.inbox import Unread, count_unread
from headgate.storage.access.api_tokens import Scope
from headgate.storage.access.users import Role
from headgate.storage.database import Tx
from headgate.web.cookies import COOKIE
from headgate.web.parts import site_of

_IMPLIED: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write"}),
    "admin": frozenset({"read", "write", "admin"}),
}
_OF_ROLE: dict[Role, frozenset[Scope]] = {"member": _IMPLIED["write"], "admin": _IMPLIED["admin"]}

_NONE = Unread(0)


@dataclass(frozen=True)
class Caller:
    """Who is asking, and what they may do."""

    user_id: UUID
    user_name: str
    scopes: frozenset[Scope]
    """What the token was granted, as far as the user's role allows it today; of a session, all of that."""
    session_id: UUID | None = None
    csrf_token: str = ""
    """Only a session has one: a token in a header cannot be sent by another site."""
    unread: Unread = _NONE
    """Notifications that the person has not read; every page shows it."""
    events_mark: str = ""
    """Where events stood before the request read anything; the page's stream starts from there."""

    @property
    def role(self) -> Role:
        """The role to act with: a token of an administrator acts as one only with the scope `admin`."""
        return "admin" if "admin" in self.scopes else "member"

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"


def scopes_of(role: Role, granted: list[Scope]) -> frozenset[Scope]:
    """Return what a token may do: what it was granted, as far as its owner may do it today."""
    wide: set[Scope] = set()
    for scope in granted:
        wide |= _IMPLIED[scope]
    return _OF_ROLE[role] & wide


def scopes_of_role(role: Role) -> frozenset[Scope]:
    return _OF_ROLE[role]


async def identify(request: Request) -> Caller | None:
    """Return who is asking, or nothing; asked once a request."""
    if not hasattr(request.state, "caller"):
        site = site_of(request)
        now = site.parts.real_clock.now()
        events_mark = site.hub.mark
        bearer = _bearer_token(request)
        cookie = request.cookies.get(COOKIE)
        caller: Caller | None = None
        if bearer is not None:
            async with site.transaction() as tx:
                caller = await _from_api_token(tx, bearer, now)
        elif cookie:
            async with site.transaction() as tx:
                caller = await _from_session(tx, cookie, now, events_mark)
        request.state.caller = caller
    return cast("Caller | None", request.state.caller)


def _bearer_token(request: Request) -> str | None:
    """Return the token of the header; one that is there but not a bearer's counts as a wrong one."""
    header = request.headers.get("authorization")
    if header is None:
        return None
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def _from_api_token(tx: Tx, token: str, now: datetime) -> Caller | None:
    known = await use_api_token(tx, token, now=now)
    if known is None:
        return None
    return Caller(known.user_id, known.user_name, scopes_of(known.role, known.scopes))


async def _from_session(tx: Tx, token: str, now: datetime, events_mark: str) -> Caller | None:
    known = await use_session(tx, token, now=now)
    if known is None:
        return None
    return Caller(
        known.user_id,
        known.user_name,
        _OF_ROLE[known.role],
        known.id,
        csrf_token(token),
        await count_unread(tx, user_id=known.user_id),
        events_mark,
    )


def _admitted(request: Request) -> Caller:
    caller = cast("Caller | None", getattr(request.state, "caller", None))
    if caller is None:
        raise HTTPException(401)
    return caller


CurrentCaller = Annotated[Caller, Depends(_admitted)]
"""The caller that the route's door has let in."""
