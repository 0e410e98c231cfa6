"""Views of the library that people saved: each of them is a filter and an order under a name."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.shelf import views
from headgate.domain.errors import NotFound, UserError
from headgate.web.callers import CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.confirmations import Confirmation, ask
from headgate.web.parts import CurrentSite

routes = Routes()

Text = Annotated[str, Form(max_length=10_000)]
_UNKNOWN = UserError("This cannot be done here.", remedy="Load the page again.")


@routes.post("/library/views", door=SIGNED_IN)
async def save(site: CurrentSite, caller: CurrentCaller, name: Text = "", query: Text = "") -> Response:
    """Save the filters and the order of a list under a name."""
    parts = site.parts
    async with site.transaction() as tx:
        view = await views.save_view(
            tx, name=name, query=query, user_id=caller.user_id, ids=parts.ids, now=parts.clock.now()
        )
    return RedirectResponse(address_of(view.query), status_code=303)


@routes.post("/library/views/{view_id}", door=SIGNED_IN)
async def change(
    site: CurrentSite, caller: CurrentCaller, view_id: UUID, do: Text = "", name: Text = "", query: Text = ""
) -> Response:
    """Rename a view, let it show something else, or let the library begin with it."""
    user_id = caller.user_id
    async with site.transaction() as tx:
        match do:
            case "rename":
                view = await views.rename_view(tx, view_id, name=name, user_id=user_id)
            case "replace":
                view = await views.replace_view(tx, view_id, query=query, user_id=user_id)
            case "default" | "not-default":
                view = await views.set_default_view(tx, view_id, user_id=user_id, is_default=do == "default")
            case _:
                raise _UNKNOWN
    return RedirectResponse(address_of(view.query), status_code=303)


@routes.get("/library/views/{view_id}/delete", door=SIGNED_IN)
async def ask_to_delete(site: CurrentSite, caller: CurrentCaller, view_id: UUID) -> Response:
    async with site.transaction() as tx:
        saved = await views.list_views(tx, user_id=caller.user_id)
    view = next((one for one in saved if one.id == view_id), None)
    if view is None:
        raise NotFound("There is no such view.", remedy="It may have been deleted.")
    confirmation = Confirmation(
        about=view.name,
        back=address_of(view.query),
        question=f"Delete the view “{view.name}”?",
        action=f"/library/views/{view_id}/delete",
        button="Delete view",
        part="library",
        texts=("What it shows stays in the library.",),
    )
    return ask(site, caller, confirmation)


@routes.post("/library/views/{view_id}/delete", door=SIGNED_IN)
async def delete(site: CurrentSite, caller: CurrentCaller, view_id: UUID) -> Response:
    async with site.transaction() as tx:
        await views.delete_view(tx, view_id, user_id=caller.user_id)
    return RedirectResponse("/?all=1", status_code=303)


def address_of(query: str) -> str:
    """Return the address of a view; that of everything says so, because `/` may begin with another one."""
    return f"/?{query or 'all=1'}"
