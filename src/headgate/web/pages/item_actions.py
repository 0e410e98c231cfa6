"""What people do about an item on its page: fetch, drop or remove it, and mend its set."""

from __future__ import annotations

import re
from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue import sets
from headgate.catalogue.files import drop_items, fetch_items, remove_items
from headgate.catalogue.items import show_item
from headgate.domain.errors import UserError
from headgate.domain.words.times import size_text
from headgate.intake.channels.requests import retry_set
from headgate.web.callers import CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.pages.confirmations import Confirmation, ask
from headgate.web.parts import CurrentSite

routes = Routes()

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@routes.post("/items/{item_id}/set", door=SIGNED_IN)
async def change_set(
    site: CurrentSite,
    item_id: UUID,
    do: Annotated[str, Form(max_length=20)] = "",
    other: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """Join another item, separate the files, look for missing volumes again, or dismiss the problem."""
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        match do:
            case "join":
                await sets.join_items(tx, [item_id, _read_item(other)], now=now)
            case "separate":
                await sets.separate_files(tx, item_id, now=now)
            case "retry":
                await retry_set(tx, item_id, ids=site.parts.ids, now=now)
            case "dismiss":
                await sets.dismiss_problem(tx, item_id, now=now)
            case _:
                raise UserError("This cannot be done here.", remedy="Load the page again.")
    return RedirectResponse(f"/items/{item_id}", status_code=303)


@routes.post("/items/{item_id}/fetch", door=SIGNED_IN)
async def fetch(site: CurrentSite, item_id: UUID) -> Response:
    """Download the item's files next."""
    async with site.transaction() as tx:
        await fetch_items(tx, [item_id], now=site.parts.clock.now())
    return RedirectResponse(f"/items/{item_id}#files", status_code=303)


@routes.get("/items/{item_id}/drop", door=ADMIN)
async def ask_to_drop(site: CurrentSite, caller: CurrentCaller, item_id: UUID) -> Response:
    async with site.transaction() as tx:
        details = await show_item(tx, item_id)
    confirmation = Confirmation(
        about=details.item.title,
        back=f"/items/{item_id}",
        question=f"Delete the stored files ({size_text(details.stored.stored_bytes)})?",
        action=f"/items/{item_id}/drop",
        button="Delete files",
        part="library",
        texts=("The item stays listed, and its files can be downloaded again while their message exists.",),
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/items/{item_id}/drop", door=ADMIN)
async def drop(site: CurrentSite, item_id: UUID) -> Response:
    """Give the item's stored files up."""
    async with site.transaction() as tx:
        freed = await drop_items(tx, [item_id], now=site.parts.clock.now())
    return RedirectResponse(f"/items/{item_id}?freed={freed.bytes}", status_code=303)


@routes.get("/items/{item_id}/remove", door=ADMIN)
async def ask_to_remove(site: CurrentSite, caller: CurrentCaller, item_id: UUID) -> Response:
    async with site.transaction() as tx:
        details = await show_item(tx, item_id)
    confirmation = Confirmation(
        about=details.item.title,
        back=f"/items/{item_id}",
        question="Remove this item for ever?",
        action=f"/items/{item_id}/remove",
        button="Remove for ever",
        part="library",
        texts=("Its stored files are deleted, and the same content does not come back to its channel.",),
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/items/{item_id}/remove", door=ADMIN)
async def remove(site: CurrentSite, item_id: UUID) -> Response:
    """Remove the item and its files for ever."""
    async with site.transaction() as tx:
        freed = await remove_items(tx, [item_id], now=site.parts.clock.now())
    return RedirectResponse(f"/?freed={freed.bytes}", status_code=303)


def _read_item(text: str) -> UUID:
    """Return the item that an address or id means."""
    found = _ID.search(text)
    if found is None:
        raise UserError(
            "That is no address of an item.", remedy="Copy it from the page of the item.", field="other"
        )
    return UUID(found[0])
