"""Coming in and going out: sign-in, sign-out, the first administrator, the demo's entry."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import UserError
from headgate.kernel.logs import get_logger
from headgate.storage import users
from headgate.storage.users import User
from headgate.web.accounts import add_user, check_new_user, check_password
from headgate.web.callers import Caller, CurrentCaller, identify, scopes_of_role
from headgate.web.door import PUBLIC, SIGNED_IN, Routes
from headgate.web.errors import not_found
from headgate.web.hosts import is_local
from headgate.web.pages.library import Wish, render_library
from headgate.web.parts import CurrentSite, Site
from headgate.web.password_rules import MIN_LENGTH
from headgate.web.passwords import differ
from headgate.web.sessions import (
    browser_secret,
    clear_cookie,
    client_address,
    end_session,
    remember_browser,
    set_browser_cookie,
    set_cookie,
    start_session,
)
from headgate.web.throttle import Attempt, Throttled
from headgate.web.tokens import csrf_token, same, token_hash
from headgate.web.typed import local_path, typed_text

routes = Routes()

log = get_logger("door")

_LINK_IS_SPENT = (
    "This link does not work any more. It works once, for a day, and only while there is no user. Start"
    " Headgate again to get a new one."
)


@routes.get("/login", door=PUBLIC)
async def show_login(request: Request, site: CurrentSite, next: str = "/") -> Response:  # noqa: A002
    if await identify(request) is not None:
        return RedirectResponse(local_path(next), status_code=303)
    return await _login_page(site, target=next)


@routes.post("/login", door=PUBLIC)
async def sign_in(
    request: Request,
    site: CurrentSite,
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",  # noqa: A002
) -> Response:
    attempt = Attempt(typed_text(name), client_address(request), browser_secret(request))
    try:
        user = await check_password(site, attempt, password)
    except Throttled as throttled:
        page = await _login_page(
            site, target=next, name=name, problem=f"Too many attempts. Try again in {throttled.wait_s} s."
        )
        page.status_code = 429
        page.headers["retry-after"] = str(throttled.wait_s)
        return page
    if user is None:
        page = await _login_page(
            site, target=next, name=name, problem="The name or the password is not right."
        )
        page.status_code = 401
        return page
    return await _come_in(request, site, user, local_path(next))


@routes.post("/logout", door=SIGNED_IN)
async def sign_out(site: CurrentSite, caller: CurrentCaller) -> Response:
    if caller.session_id is not None:
        async with site.transaction() as tx:
            await end_session(tx, session_id=caller.session_id, user_id=caller.user_id)
    response = RedirectResponse("/login", status_code=303)
    clear_cookie(response, site.parts.settings)
    return response


@routes.get("/setup/{token}", door=PUBLIC)
async def show_setup(site: CurrentSite, token: str) -> Response:
    async with site.transaction() as tx:
        good = await users.is_setup_link_open(tx, token_hash(token), now=site.parts.real_clock.now())
    if not good:
        raise not_found(_LINK_IS_SPENT)
    return _setup_page(site, token=token, name="admin")


@routes.post("/setup/{token}", door=PUBLIC)
async def make_administrator(
    request: Request,
    site: CurrentSite,
    token: str,
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    again: Annotated[str, Form()] = "",
) -> Response:
    if problem := differ(password, again):
        return _setup_page(site, token=token, name=name, problem=problem)
    try:
        user = await _add_first_user(site, token, name=name, password=password)
    except UserError as error:
        return _setup_page(site, token=token, name=name, problem=str(error))
    log.info("the administrator was made", name=user.name)
    return await _come_in(request, site, user, "/")


@routes.get("/enter/{token}", door=PUBLIC, head=False)
async def enter_demo(request: Request, site: CurrentSite, token: str) -> Response:
    """Answer with the page itself, signed in: a client that keeps no cookie sees it as well."""
    link = site.parts.entry_link
    if link is None or not same(token, link.token) or not is_local(request, site.parts.settings):
        raise not_found()
    known = await identify(request)
    if known is not None and known.user_id == link.user_id:
        return await render_library(site, known, Wish())
    async with site.transaction() as tx:
        user = await users.get_user(tx, link.user_id)
        if user is None:
            raise not_found()
        session_token = await start_session(tx, site, request, user.id)
    caller = Caller(user.id, user.name, scopes_of_role(user.role), csrf_token=csrf_token(session_token))
    response = await render_library(site, caller, Wish())
    set_cookie(response, session_token, site.parts.settings)
    return response


async def _login_page(site: Site, *, target: str, name: str = "", problem: str = "") -> Response:
    async with site.transaction() as tx:
        first_start = not await users.count_users(tx)
    return site.renderer.render(
        "login.html",
        caller=None,
        target=local_path(target),
        name=name,
        problem=problem,
        first_start=first_start,
    )


def _setup_page(site: Site, *, token: str, name: str, problem: str = "") -> Response:
    page = site.renderer.render(
        "setup.html", caller=None, token=token, name=name, problem=problem, shortest_password=MIN_LENGTH
    )
    page.status_code = 422 if problem else 200
    return page


async def _come_in(request: Request, site: Site, user: User, target: str) -> Response:
    async with site.transaction() as tx:
        token = await start_session(tx, site, request, user.id)
        secret = await remember_browser(tx, site, request, user.id)
    response = RedirectResponse(target, status_code=303)
    set_cookie(response, token, site.parts.settings)
    set_browser_cookie(response, secret, site.parts.settings)
    return response


async def _add_first_user(site: Site, token: str, *, name: str, password: str) -> User:
    """Make the administrator, unless somebody did meanwhile; the link is spent either way."""
    hashed = token_hash(token)
    async with site.transaction() as tx:
        if not await users.is_setup_link_open(tx, hashed, now=site.parts.real_clock.now()):
            raise not_found(_LINK_IS_SPENT)
    checked_name, password_hash = await check_new_user(site, name=name, password=password)
    async with site.transaction() as tx:
        await users.lock_users(tx)
        if not await users.is_setup_link_open(tx, hashed, now=site.parts.real_clock.now()):
            raise not_found(_LINK_IS_SPENT)
        user = await add_user(tx, site, name=checked_name, password_hash=password_hash, role="admin")
        await users.delete_setup_links(tx)
    return user
