"""What an account sees, and following it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import NotFound, UserError
from headgate.intake.channels.choosing import Visible
from headgate.outflow.sending.pace import get_account
from headgate.storage.channels.channels import list_accounts
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, Routes
from headgate.web.parts import CurrentSite, Site

routes = Routes()

_NOTHING = Visible((), ())


@routes.get("/channels/add", door=ADMIN)
async def choose_account(site: CurrentSite, caller: CurrentCaller) -> Response:
    """Choose whose channels to add; go straight on where there is no choice."""
    async with site.transaction() as tx:
        accounts = [one for one in await list_accounts(tx) if one.platform in site.logins.platforms()]
    if not accounts:
        return RedirectResponse("/accounts/add", status_code=303)
    if len(accounts) == 1:
        return RedirectResponse(f"/accounts/{accounts[0].id}/channels", status_code=303)
    return site.renderer.render("channel_add.html", caller=caller, accounts=accounts)


@routes.get("/accounts/{account_id}/channels", door=ADMIN)
async def show_channels(site: CurrentSite, caller: CurrentCaller, account_id: UUID) -> Response:
    return await _page(site, caller, account_id)


@routes.post("/accounts/{account_id}/channels", door=ADMIN)
async def follow(
    site: CurrentSite,
    caller: CurrentCaller,
    account_id: UUID,
    key: Annotated[list[str] | None, Form()] = None,
    do: Annotated[str, Form()] = "",
) -> Response:
    """Follow what was ticked, or everything."""
    if not key and do != "all":
        return await _page(site, caller, account_id, problem="Nothing is selected. Tick the channels to add.")
    async with site.transaction() as tx:
        account = await get_account(tx, account_id)
    try:
        await site.choice.follow(account, None if do == "all" else key)
    except NotFound:
        raise
    except UserError as error:
        return await _page(site, caller, account_id, problem=str(error))
    return RedirectResponse("/channels", status_code=303)


async def _page(site: Site, caller: Caller, account_id: UUID, *, problem: str = "") -> Response:
    async with site.transaction() as tx:
        account = await get_account(tx, account_id)
    visible = _NOTHING
    try:
        visible = await site.choice.list_visible(account)
    except UserError as error:
        problem = problem or str(error)
    page = site.renderer.render(
        "account_channels.html",
        caller=caller,
        account=account,
        channels=visible.channels,
        followed={one.key for one in visible.followed},
        problem=problem,
    )
    page.status_code = 422 if problem else 200
    return page
