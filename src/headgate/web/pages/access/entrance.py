"""Coming in and going out: sign-in, sign-out, the first administrator, the demo's entry."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from headgate.access.password_rules import MIN_LENGTH
from headgate.access.passwords import differ
from headgate.access.sessions import Browser, end_session, remember_browser, start_session
from headgate.access.throttle import Attempt, Throttled
from headgate.access.tokens import csrf_token, same
from headgate.access.users import add_administrator, check_password, check_setup_link
from headgate.domain.errors import NotFound, UserError
from headgate.domain.text import typed_text
from headgate.storage.access import users
from headgate.storage.access.users import User
from headgate.storage.database import Tx
from headgate.web.callers import Caller, CurrentCaller, identify, scopes_of_role
from headgate.web.cookies import browser_of, clear_cookie, set_browser_cookie, set_cookie
from headgate.web.door import PUBLIC, SIGNED_IN, Routes
from headgate.web.errors import not_found
from headgate.web.http.hosts import is_local
from headgate.web.pages.library.addresses import LibraryAddress
from headgate.web.pages.library.shelf import render_library
from headgate.web.parts import CurrentSite, Site
from headgate.web.typed import local_path

routes = Routes()


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
    browser = browser_of(request)
    attempt = Attempt(typed_text(name), browser.address, browser.secret)
    try:
        user = await check_password(site.access, attempt, password)
    except Throttled as throttled:
        page = await _login_page(
            site, target=next, name=name, problem=f"Too many attempts. Try again in {throttled.wait_s} s."
        )
        page.status_code = 429
        page.headers["retry-after"] = str(throttled.wait_s)
        return page
    if user is None:
        page = await _login_page(site, target=next, name=name, problem="Wrong name or password.")
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
    await check_setup_link(site.access, token)
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
        return _setup_page(site, token=token, name=name, problem=UserError(problem, field="again"))
    try:
        user = await add_administrator(site.access, token, name=name, password=password)
    except NotFound:
        raise
    except UserError as error:
        return _setup_page(site, token=token, name=name, problem=error)
    return await _come_in(request, site, user, "/")


@routes.get("/enter/{token}", door=PUBLIC, head=False)
async def enter_demo(request: Request, site: CurrentSite, token: str) -> Response:
    """Answer with the page itself, signed in: a client that keeps no cookie sees it as well."""
    link = site.parts.entry_link
    if link is None or not same(token, link.token) or not is_local(request, site.parts.settings):
        raise not_found()
    known = await identify(request)
    if known is not None and known.user_id == link.user_id:
        return await render_library(site, known, LibraryAddress())
    async with site.transaction() as tx:
        user = await users.get_user(tx, link.user_id)
        if user is None:
            raise not_found()
        session_token = await _start_session(tx, site, browser_of(request), user)
    caller = Caller(user.id, user.name, scopes_of_role(user.role), csrf_token=csrf_token(session_token))
    response = await render_library(site, caller, LibraryAddress())
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


def _setup_page(site: Site, *, token: str, name: str, problem: UserError | None = None) -> Response:
    page = site.renderer.render(
        "setup.html", caller=None, token=token, name=name, problem=problem, shortest_password=MIN_LENGTH
    )
    page.status_code = 422 if problem else 200
    return page


async def _come_in(request: Request, site: Site, user: User, target: str) -> Response:
    async with site.transaction() as tx:
        browser = browser_of(request)
        token = await _start_session(tx, site, browser, user)
        secret = await remember_browser(tx, site.access, browser, user.id)
    response = RedirectResponse(target, status_code=303)
    set_cookie(response, token, site.parts.settings)
    set_browser_cookie(response, secret, site.parts.settings)
    return response


async def _start_session(tx: Tx, site: Site, browser: Browser, user: User) -> str:
    return await start_session(tx, site.access, browser, user.id, days=site.parts.settings.session_days)
