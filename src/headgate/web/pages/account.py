"""A person's own account: password, sign-ins, API tokens."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from headgate.storage import api_tokens, user_sessions
from headgate.web.accounts import (
    DEFAULT_TOKEN_DAYS,
    TOKEN_DAYS,
    FreshToken,
    check_password,
    make_api_token,
    set_password,
)
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.errors import not_found
from headgate.web.parts import CurrentSite, Site
from headgate.web.password_rules import MIN_LENGTH, weakness
from headgate.web.passwords import differ
from headgate.web.sessions import (
    browser_secret,
    client_address,
    end_other_sessions,
    end_session,
    remember_browser,
    set_browser_cookie,
    set_cookie,
    start_session,
)
from headgate.web.throttle import Attempt, Throttled

routes = Routes()


@routes.get("/account", door=SIGNED_IN)
async def show_account(site: CurrentSite, caller: CurrentCaller) -> Response:
    return await _page(site, caller)


@routes.post("/account/password", door=SIGNED_IN)
async def change_password(
    request: Request,
    site: CurrentSite,
    caller: CurrentCaller,
    current: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    again: Annotated[str, Form()] = "",
    tokens: Annotated[str, Form()] = "revoke",
) -> Response:
    """Change the password; every other sign-in ends, and this one gets a new token."""
    attempt = Attempt(caller.user_name, client_address(request), browser_secret(request))
    problem = (
        differ(password, again)
        or weakness(password, name=caller.user_name)
        or await _check_current(site, attempt, current)
    )
    if problem:
        return await _page(site, caller, problem=problem, status=422)
    password_hash = await site.passwords.hash(password)
    async with site.transaction() as tx:
        await set_password(tx, caller.user_id, password_hash, revoke_tokens=tokens != "keep")
        token = await start_session(tx, site, request, caller.user_id)
        secret = await remember_browser(tx, site, request, caller.user_id)
    response = RedirectResponse("/account", status_code=303)
    set_cookie(response, token, site.parts.settings)
    set_browser_cookie(response, secret, site.parts.settings)
    return response


@routes.post("/account/sessions/end", door=SIGNED_IN)
async def end_others(site: CurrentSite, caller: CurrentCaller) -> Response:
    """Sign out everywhere else."""
    async with site.transaction() as tx:
        await end_other_sessions(tx, user_id=caller.user_id, keep_id=caller.session_id)
    return RedirectResponse("/account", status_code=303)


@routes.post("/account/sessions/{session_id}/end", door=SIGNED_IN)
async def end_one(site: CurrentSite, caller: CurrentCaller, session_id: UUID) -> Response:
    async with site.transaction() as tx:
        if not await end_session(tx, session_id=session_id, user_id=caller.user_id):
            raise not_found("There is no such sign-in.")
    return RedirectResponse("/account", status_code=303)


@routes.post("/account/tokens", door=SIGNED_IN)
async def add_token(
    site: CurrentSite,
    caller: CurrentCaller,
    name: Annotated[str, Form()] = "",
    scope: Annotated[str, Form()] = "read",
    days: Annotated[int, Form()] = DEFAULT_TOKEN_DAYS,
) -> Response:
    """Make a token and show it, this once."""
    if scope not in caller.scopes:
        raise HTTPException(403, "You may not give a token more than you may do yourself.")
    async with site.transaction() as tx:
        fresh = await make_api_token(tx, site, user_id=caller.user_id, name=name, scopes=[scope], days=days)
    return await _page(site, caller, fresh=fresh)


@routes.post("/account/tokens/{token_id}/revoke", door=SIGNED_IN)
async def revoke_token(site: CurrentSite, caller: CurrentCaller, token_id: UUID) -> Response:
    async with site.transaction() as tx:
        if not await api_tokens.delete_api_token(tx, token_id=token_id, user_id=caller.user_id):
            raise not_found("There is no such token.")
    return RedirectResponse("/account", status_code=303)


async def _check_current(site: Site, attempt: Attempt, password: str) -> str | None:
    try:
        user = await check_password(site, attempt, password)
    except Throttled as throttled:
        return f"Too many attempts. Try again in {throttled.wait_s} s."
    return None if user else "The current password is not right."


async def _page(
    site: Site, caller: Caller, *, problem: str = "", fresh: FreshToken | None = None, status: int = 200
) -> Response:
    now = site.parts.real_clock.now()
    async with site.transaction() as tx:
        sessions = await user_sessions.list_sessions(tx, caller.user_id, now=now)
        tokens = await api_tokens.list_api_tokens(tx, caller.user_id)
    page = site.renderer.render(
        "account.html",
        caller=caller,
        now=now,
        sessions=sessions,
        tokens=tokens,
        fresh=fresh,
        problem=problem,
        token_days=TOKEN_DAYS,
        default_token_days=DEFAULT_TOKEN_DAYS,
        shortest_password=MIN_LENGTH,
        scopes=[name for name in ("read", "write", "admin") if name in caller.scopes],
    )
    page.status_code = status
    return page
