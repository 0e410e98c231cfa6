"""A person's own account: password, sign-ins, API tokens."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from headgate.access.password_rules import MIN_LENGTH
from headgate.access.passwords import differ
from headgate.access.sessions import end_other_sessions, end_session, remember_browser, start_session
from headgate.access.throttle import Attempt, Throttled
from headgate.access.users import (
    DEFAULT_TOKEN_DAYS,
    TOKEN_DAYS,
    FreshToken,
    create_api_token,
    revoke_api_token,
)
from headgate.access.users import change_password as change_own_password
from headgate.domain.errors import UserError
from headgate.storage.access import api_tokens, user_sessions
from headgate.storage.access.api_tokens import Scope
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cookies import browser_of, set_browser_cookie, set_cookie
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.errors import not_found
from headgate.web.parts import CurrentSite, Site

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
    browser = browser_of(request)
    attempt = Attempt(caller.user_name, browser.address, browser.secret)
    if problem := differ(password, again):
        return await _page(site, caller, problem=problem, status=422)
    try:
        await change_own_password(
            site.access, attempt, current=current, password=password, revoke_tokens=tokens != "keep"
        )
    except Throttled as throttled:
        problem = f"Too many attempts. Try again in {throttled.wait_s} s."
        return await _page(site, caller, problem=problem, status=422)
    except UserError as error:
        return await _page(site, caller, problem=str(error), status=422)
    async with site.transaction() as tx:
        days = site.parts.settings.session_days
        token = await start_session(tx, site.access, browser, caller.user_id, days=days)
        secret = await remember_browser(tx, site.access, browser, caller.user_id)
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
    scope: Annotated[Scope, Form()] = "read",
    days: Annotated[int, Form()] = DEFAULT_TOKEN_DAYS,
) -> Response:
    """Make a token and show it, this once."""
    fresh = await create_api_token(
        site.access, user_id=caller.user_id, own_scopes=caller.scopes, name=name, scopes=[scope], days=days
    )
    return await _page(site, caller, fresh=fresh)


@routes.post("/account/tokens/{token_id}/revoke", door=SIGNED_IN)
async def revoke_token(site: CurrentSite, caller: CurrentCaller, token_id: UUID) -> Response:
    await revoke_api_token(site.access, token_id, user_id=caller.user_id)
    return RedirectResponse("/account", status_code=303)


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
