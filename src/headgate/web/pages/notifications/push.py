"""The addresses that a person's notifications go out to: added, tested, switched, removed, looked back at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import NotFound, UserError
from headgate.domain.text import typed_text
from headgate.outflow.notifications.push_addresses import MAX_NAME, PAGE
from headgate.outflow.notifications.push_out import PushOutcome
from headgate.storage.database import Tx
from headgate.storage.notifications.push_addresses import NEWEST_PUSH, PushCursor
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.confirmations import Confirmation, ask
from headgate.web.pages.notifications.settings import HOME, Said, render_settings
from headgate.web.parts import CurrentSite, Site

routes = Routes()


@routes.post("/account/addresses", door=SIGNED_IN)
async def add_address(
    site: CurrentSite,
    caller: CurrentCaller,
    name: Annotated[str, Form()] = "",
    url: Annotated[str, Form()] = "",
) -> Response:
    wanted = typed_text(name, max_length=MAX_NAME + 1)
    try:
        address_id = await site.parts.push_addresses.add(
            site.parts.database, url.strip(), name=wanted, user_id=caller.user_id, role=caller.role
        )
    except UserError as error:
        said = Said(problems={"add": str(error)}, typed={"name": wanted, "url": url.strip()})
        return await render_settings(site, caller, said)
    said = Said(done={f"address-{address_id}": "Added. Send a test to see that it works."})
    return await render_settings(site, caller, said)


@routes.post("/account/addresses/{address_id}/test", door=SIGNED_IN)
async def test_address(site: CurrentSite, caller: CurrentCaller, address_id: UUID) -> Response:
    """Send a test now, and say what became of it."""
    name = f"address-{address_id}"
    try:
        outcome = await site.parts.push_addresses.test(
            site.parts.database, address_id, user_id=caller.user_id
        )
    except NotFound:
        raise
    except UserError as error:
        return await render_settings(site, caller, Said(problems={name: str(error)}))
    if outcome.state == "sent":
        return await render_settings(site, caller, Said(done={name: "Test sent. Did it arrive?"}))
    return await render_settings(site, caller, Said(problems={name: _why(outcome)}))


@routes.post("/account/addresses/{address_id}/switch", door=SIGNED_IN)
async def switch_address(
    site: CurrentSite, caller: CurrentCaller, address_id: UUID, enabled: Annotated[bool, Form()]
) -> Response:
    async def switch(tx: Tx) -> None:
        await site.parts.push_addresses.enable(tx, address_id, user_id=caller.user_id, enabled=enabled)

    return await _change(site, caller, address_id, switch)


@routes.post("/account/addresses/{address_id}/rename", door=SIGNED_IN)
async def rename_address(
    site: CurrentSite, caller: CurrentCaller, address_id: UUID, name: Annotated[str, Form()] = ""
) -> Response:
    wanted = typed_text(name, max_length=MAX_NAME + 1)

    async def rename(tx: Tx) -> None:
        await site.parts.push_addresses.rename(tx, address_id, wanted, user_id=caller.user_id)

    return await _change(site, caller, address_id, rename)


@routes.get("/account/addresses/{address_id}/remove", door=SIGNED_IN)
async def ask_remove(site: CurrentSite, caller: CurrentCaller, address_id: UUID) -> Response:
    async with site.transaction() as tx:
        address = await site.parts.push_addresses.get(tx, address_id, user_id=caller.user_id)
    confirmation = Confirmation(
        about=address.name,
        part="account",
        back=HOME,
        question="Remove this address?",
        texts=["Nothing is sent to it any more, and its history is deleted. Your list stays."],
        action=f"/account/addresses/{address_id}/remove",
        button="Remove address",
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/account/addresses/{address_id}/remove", door=SIGNED_IN)
async def remove_address(site: CurrentSite, caller: CurrentCaller, address_id: UUID) -> Response:
    async def remove(tx: Tx) -> None:
        await site.parts.push_addresses.remove(tx, address_id, user_id=caller.user_id)

    return await _change(site, caller, address_id, remove)


@routes.get("/account/addresses/{address_id}", door=SIGNED_IN)
async def show_address(
    site: CurrentSite, caller: CurrentCaller, address_id: UUID, before: str = ""
) -> Response:
    return await _page(site, caller, address_id, before=before)


@routes.post("/account/addresses/{address_id}/repeat", door=SIGNED_IN)
async def repeat_push(
    site: CurrentSite, caller: CurrentCaller, address_id: UUID, push: Annotated[UUID, Form()]
) -> Response:
    """Send again what failed, or of which nobody knows whether it arrived."""
    try:
        async with site.transaction() as tx:
            await site.parts.push_addresses.repeat(tx, push, address_id=address_id, user_id=caller.user_id)
    except NotFound:
        raise
    except UserError as error:
        return await _page(site, caller, address_id, problem=str(error))
    return RedirectResponse(f"/account/addresses/{address_id}", status_code=303)


async def _change(
    site: Site, caller: Caller, address_id: UUID, act: Callable[[Tx], Awaitable[None]]
) -> Response:
    try:
        async with site.transaction() as tx:
            await act(tx)
    except NotFound:
        raise
    except UserError as error:
        return await render_settings(site, caller, Said(problems={f"address-{address_id}": str(error)}))
    return RedirectResponse(f"{HOME}#addresses", status_code=303)


async def _page(
    site: Site, caller: Caller, address_id: UUID, *, before: str = "", problem: str = ""
) -> Response:
    async with site.transaction() as tx:
        address = await site.parts.push_addresses.get(tx, address_id, user_id=caller.user_id)
        found = await site.parts.push_addresses.list_pushes(
            tx,
            address_id,
            user_id=caller.user_id,
            below=read_time_cursor(before, PushCursor) or NEWEST_PUSH,
            limit=PAGE + 1,
        )
    pushes, following = cut_page(found, PAGE, lambda push: time_cursor(push.made_at, push.id))
    page = site.renderer.render(
        "address.html",
        caller=caller,
        address=address,
        pushes=pushes,
        before=before,
        following=following,
        problem=problem,
    )
    page.status_code = 422 if problem else 200
    return page


def _why(outcome: PushOutcome) -> str:
    if outcome.state == "uncertain":
        return f"The test may or may not have arrived: {outcome.error}"
    return f"The test was not sent: {outcome.error}"
