"""Adding an account and signing it in, step by step.

Every step works as a plain form. Where the platform is waited for, the page polls by itself, and goes on as
soon as there is something new.
"""

from __future__ import annotations

import hashlib
from typing import Annotated
from uuid import UUID

import segno
from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from headgate.connectors.login_steps import Ask, Waiting
from headgate.domain.errors import NotFound, UserError
from headgate.intake.channels.logins import Login, LoginReply, LoginWish
from headgate.outflow.sending.pace import get_account
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, Routes
from headgate.web.parts import CurrentSite, Site
from headgate.web.typed import read_form

routes = Routes()

MAX_NAME_LENGTH = 200
_ANSWER = "answer-"


@routes.get("/accounts/add", door=ADMIN)
async def show_platforms(site: CurrentSite, caller: CurrentCaller) -> Response:
    return _platforms(site, caller)


@routes.post("/accounts/add", door=ADMIN)
async def begin(
    site: CurrentSite,
    caller: CurrentCaller,
    platform: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    established: Annotated[bool, Form()] = False,
) -> Response:
    """Begin to sign in a new account."""
    try:
        login = await site.logins.begin(LoginWish(platform, name.strip()[:MAX_NAME_LENGTH], established))
    except UserError as error:
        return _platforms(site, caller, problem=str(error), chosen=platform, name=name)
    return RedirectResponse(_place(login), status_code=303)


@routes.post("/accounts/{account_id}/login", door=ADMIN)
async def begin_again(site: CurrentSite, account_id: UUID) -> Response:
    """Begin to sign in an account that is there."""
    async with site.transaction() as tx:
        account = await get_account(tx, account_id)
    login = await site.logins.begin(LoginWish(account.platform, account=account))
    return RedirectResponse(_place(login), status_code=303)


@routes.get("/accounts/logins/{login_id}", door=ADMIN)
async def show_step(site: CurrentSite, caller: CurrentCaller, login_id: UUID) -> Response:
    login = await site.logins.get(login_id)
    if login.account_id is not None:
        return RedirectResponse(_place(login), status_code=303)
    return _step(site, caller, login)


@routes.post("/accounts/logins/{login_id}", door=ADMIN)
async def take_step(site: CurrentSite, caller: CurrentCaller, request: Request, login_id: UUID) -> Response:
    """Take the next step, with the answers or the action of the form; without both it is a poll."""
    fields = {name: value for name, value in (await read_form(request)).items() if isinstance(value, str)}
    is_poll = "hx-request" in request.headers
    try:
        login = await site.logins.go_on(login_id, LoginReply() if is_poll else _reply(fields))
    except NotFound:
        raise
    except UserError as error:
        login = await site.logins.get(login_id)
        return _step(site, caller, login, problem=error, fields=fields)
    if login.account_id is not None:
        return _redirect(_place(login), is_poll=is_poll)
    if not is_poll:
        return RedirectResponse(_place(login), status_code=303)
    if fields.get("seen") == _fingerprint(login):
        return Response(status_code=204)
    return _step(site, caller, login)


@routes.post("/accounts/logins/{login_id}/cancel", door=ADMIN)
async def cancel(site: CurrentSite, login_id: UUID) -> Response:
    await site.logins.cancel(login_id)
    return RedirectResponse("/accounts/add", status_code=303)


def _reply(fields: dict[str, str]) -> LoginReply:
    if action := fields.get("action", ""):
        return LoginReply(action=action)
    answers = {name.removeprefix(_ANSWER): text for name, text in fields.items() if name.startswith(_ANSWER)}
    return LoginReply(answers)


def _place(login: Login) -> str:
    if login.account_id is not None:
        return f"/accounts/{login.account_id}/channels"
    return f"/accounts/logins/{login.id}"


def _redirect(path: str, *, is_poll: bool) -> Response:
    """Send a person on; a fragment cannot be redirected, so htmx is told to go there."""
    if is_poll:
        return Response(status_code=204, headers={"hx-redirect": path})
    return RedirectResponse(path, status_code=303)


def _platforms(
    site: Site, caller: Caller, *, problem: str = "", chosen: str = "", name: str = ""
) -> Response:
    page = site.renderer.render(
        "account_add.html",
        caller=caller,
        platforms=site.logins.platforms(),
        problem=problem,
        chosen=chosen,
        name=name,
        max_length=MAX_NAME_LENGTH,
    )
    page.status_code = 422 if problem else 200
    return page


def _step(
    site: Site,
    caller: Caller,
    login: Login,
    *,
    problem: UserError | None = None,
    fields: dict[str, str] | None = None,
) -> Response:
    step = login.step
    page = site.renderer.render(
        "account_login.html",
        caller=caller,
        login=login,
        platform=site.logins.platforms().get(login.platform, login.platform),
        ask=step if isinstance(step, Ask) else None,
        waiting=step if isinstance(step, Waiting) else None,
        qr=_draw(step),
        every_s=max(1, round(step.ask_again_s)) if isinstance(step, Waiting) else 0,
        seen=_fingerprint(login),
        problem="" if problem is None else str(problem),
        wrong=problem.field if problem else "",
        fields=fields or {},
    )
    page.status_code = 422 if problem else 200
    return page


def _draw(step: Ask | Waiting | None) -> Markup:
    """Return the QR code of a step as SVG, dark on light also where the page is dark."""
    shown = step.shown if isinstance(step, Waiting) else None
    if shown is None or shown.kind != "qr":
        return Markup()
    code = segno.make(shown.value, micro=False)
    drawn = code.svg_inline(dark="#000", light="#fff", omitsize=True, svgclass=None, lineclass=None)
    return Markup(drawn)  # noqa: S704 - the library writes nothing of the text but its modules


def _fingerprint(login: Login) -> str:
    """Return what tells whether a page shows the present step."""
    step = login.step
    shown = step.shown.value if isinstance(step, Waiting) and step.shown else ""
    prompt = step.prompt if isinstance(step, Waiting) else str(step)
    return hashlib.sha256("\n".join((prompt, shown, login.problem)).encode()).hexdigest()
