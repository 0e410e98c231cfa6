"""The accounts that send: how fast each does, why, and how that changed."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import NotFound, UserError
from headgate.domain.words.reasons import PACE_CAUSES
from headgate.outflow.sending.pace import PaceWish, change_pace, get_account, get_pace
from headgate.storage.channels.channels import list_accounts
from headgate.storage.lanes.account_overview import list_account_lines
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site

routes = Routes()

CHANGES = 10
_BEYOND = 1e12


@routes.get("/accounts", door=SIGNED_IN)
async def show_accounts(site: CurrentSite, caller: CurrentCaller) -> Response:
    return await _page(site, caller)


@routes.post("/accounts/{account_id}/pace", door=ADMIN)
async def set_pace(
    site: CurrentSite,
    caller: CurrentCaller,
    account_id: UUID,
    per_minute: Annotated[str, Form()] = "",
    daily_cap: Annotated[str, Form()] = "",
) -> Response:
    """Set how fast an account sends, also while it is sending."""
    try:
        wish = PaceWish(
            per_minute=_number(per_minute, "Messages a minute"),
            daily_cap=int(_number(daily_cap, "The daily cap")) if daily_cap.strip() else "none",
        )
        async with site.transaction() as tx:
            account = await get_account(tx, account_id)
            await change_pace(tx, account, wish, site.parts.plans_of, now=site.parts.clock.now())
    except NotFound:
        raise
    except UserError as error:
        return await _page(site, caller, problems={account_id: str(error)})
    return RedirectResponse("/accounts", status_code=303)


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < _BEYOND:
        raise UserError(f"{what} must be a number above 0.")
    return value


async def _page(site: Site, caller: Caller, *, problems: dict[UUID, str] | None = None) -> Response:
    async with site.transaction() as tx:
        accounts = await list_accounts(tx)
        listed = {line.id: line for line in await list_account_lines(tx)}
        paces = [await get_pace(tx, one, site.parts.plans_of, changes=CHANGES) for one in accounts]
    page = site.renderer.render(
        "accounts.html",
        caller=caller,
        lines=list(zip(accounts, paces, strict=True)),
        listed=listed,
        now=site.parts.clock.now(),
        real_now=site.parts.real_clock.now(),
        causes=PACE_CAUSES,
        groups=site.parts.group_concurrency,
        signs_in=site.logins.platforms(),
        problems=problems or {},
    )
    page.status_code = 422 if problems else 200
    return page
