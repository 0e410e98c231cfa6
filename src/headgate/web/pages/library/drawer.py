"""Everything behind a row: its files by item, its labels, and what can be done with it.

It opens as a drawer beside the list; without scripts, or by its own address, it is a page.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.groups.details import show_group
from headgate.catalogue.groups.editing import label_things
from headgate.catalogue.items import show_item
from headgate.catalogue.labels import LabelChange
from headgate.catalogue.shelf.listing import ListedRow, list_rows
from headgate.catalogue.shelf.row_files import list_row_files, list_things
from headgate.domain.errors import NotFound, UserError
from headgate.domain.text import typed_text
from headgate.ingest.inspecting.group_covers import MAX_COVER_BYTES
from headgate.storage.database import Tx
from headgate.storage.library_sends.overview import list_requests
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.library.addresses import LibraryAddress, layout_of_form
from headgate.web.pages.library.lists import show_rows
from headgate.web.parts import CurrentSite, Site

routes = Routes()

MAX_SKIP = 10_000
MAX_SENDS = 20
Text = Annotated[str, Form(max_length=5000)]


@routes.get("/library/rows/{row_id}", door=SIGNED_IN)
async def show_row(
    site: CurrentSite,
    caller: CurrentCaller,
    row_id: UUID,
    find: str = "",
    skip: int = 0,
    sending: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """Show what is behind a row; an item that is not a row of its own has its own page."""
    search, skip = typed_text(find), max(0, min(skip, MAX_SKIP))
    async with site.transaction() as tx:
        found = await list_rows(tx, [row_id])
        if not found:
            await show_item(tx, row_id)
            return RedirectResponse(f"/items/{row_id}", status_code=303)
        row = found[0]
        files = await list_row_files(tx, row_id, search=search, skip=skip)
        group = await show_group(tx, row.group_id) if row.group_id else None
        sends = await list_requests(
            tx,
            item_id=None if row.group_id else row.item_id,
            group_id=row.group_id,
            limit=MAX_SENDS,
        )
    following = urlencode({"find": search, "skip": str(files.next)}) if files.next else ""
    return site.renderer.render(
        "library_row.html",
        caller=caller,
        row=row,
        group=group,
        files=files,
        sends=sends,
        sending=sending,
        search=search,
        skip=skip,
        max_cover_bytes=MAX_COVER_BYTES,
        following=f"/library/rows/{row_id}?{following}" if following else "",
    )


@routes.get("/library/rows/{row_id}/tags", door=SIGNED_IN)
async def edit_tags(site: CurrentSite, caller: CurrentCaller, row_id: UUID) -> Response:
    """Return the tags of a row as a form, for the place where they are shown."""
    async with site.transaction() as tx:
        row = await get_row(tx, row_id)
    return site.renderer.render("library_tags.html", caller=caller, row=row)


@routes.post("/library/rows/{row_id}/tags", door=SIGNED_IN)
async def change_tags(
    request: Request, site: CurrentSite, caller: CurrentCaller, row_id: UUID, do: Text = "", tags: Text = ""
) -> Response:
    """Add tags to everything behind a row, or remove them; several are separated by commas."""
    names = tuple(name.strip() for name in tags.split(",") if name.strip())
    if not names:
        raise UserError("Type at least one tag.", field="tags")
    change = LabelChange(remove=names) if do == "remove" else LabelChange(add=names)
    async with site.transaction() as tx:
        await label_things(tx, await list_things(tx, [row_id]), change, now=site.parts.clock.now())
    return await answer_row(request, site, caller, row_id)


async def get_row(tx: Tx, row_id: UUID) -> ListedRow:
    found = await list_rows(tx, [row_id])
    if not found:
        raise NotFound("This is no longer in the library.", remedy="Load the page again.")
    return found[0]


async def answer_row(request: Request, site: Site, caller: Caller, row_id: UUID) -> Response:
    """Answer a change: with the row as it is now where the list asked for it, else with the row's page."""
    if not request.headers.get("hx-target", "").startswith("row-"):
        return RedirectResponse(f"/library/rows/{row_id}", status_code=303)
    layout = await layout_of_form(request)
    async with site.transaction() as tx:
        shown = await show_rows(tx, await list_rows(tx, [row_id]))
    return site.renderer.render(
        "library_changed.html",
        caller=caller,
        address=LibraryAddress(layout=layout),
        rows=shown,
        gone={} if shown else {row_id: None},
    )
