"""A whole list of feeds at once, as other readers export it (OPML)."""

from __future__ import annotations

from fastapi import Response, UploadFile

from headgate.domain.errors import UserError
from headgate.domain.listings.opml import MAX_BYTES
from headgate.intake.listings.opml import Imported, OpmlLists
from headgate.kernel.logs import mask_url
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site
from headgate.web.typed import AROUND_A_FILE_BYTES

routes = Routes()


@routes.get("/series/import", door=SIGNED_IN)
async def show_form(site: CurrentSite, caller: CurrentCaller) -> Response:
    return _page(site, caller)


@routes.post("/series/import", door=SIGNED_IN, largest_body_bytes=MAX_BYTES + AROUND_A_FILE_BYTES)
async def take(site: CurrentSite, caller: CurrentCaller, file: UploadFile | None = None) -> Response:
    """Follow the feeds of a list, and say of each that was refused why."""
    if file is None or not file.filename:
        return _page(site, caller, problem="No file was chosen. Choose the list that your reader exported.")
    try:
        imported = await OpmlLists(site.sources).take(await file.read(MAX_BYTES + 1))
    except UserError as error:
        return _page(site, caller, problem=str(error))
    return _page(site, caller, imported=imported)


def _page(site: Site, caller: Caller, *, imported: Imported | None = None, problem: str = "") -> Response:
    refused = [
        (mask_url(one.feed.title or one.feed.url), mask_url(one.reason))
        for one in (imported.refused if imported else ())
    ]
    page = site.renderer.render(
        "feed_list.html", caller=caller, imported=imported, refused=refused, problem=problem
    )
    page.status_code = 422 if problem else 200
    return page
