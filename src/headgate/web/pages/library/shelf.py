"""The page of the library: one row for each thing, in a view that its address says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.items import count_library
from headgate.catalogue.shelf.listing import count_before, count_shelf, describe_view, list_rows
from headgate.catalogue.shelf.row_files import find_homes
from headgate.catalogue.shelf.views import get_default_view, list_views
from headgate.domain.errors import UserError
from headgate.domain.library.shelf_filters import ShelfView, parse_view
from headgate.domain.words.file_words import freed_text
from headgate.storage.listings.listing_overview import describe_troubles, list_troubled_listings
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cursors import read_shelf_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.library.addresses import LAYOUT_COOKIE, Layout, LibraryAddress, layout_of
from headgate.web.pages.library.lists import ListPlace, ShownList, load_list, show_rows
from headgate.web.parts import CurrentSite, Site

routes = Routes()

MAX_REFRESHED = 120
"""Rows that a page asks for again at once: those that are in sight."""
_LAYOUT_AGE = timedelta(days=400)


@routes.get("/", door=SIGNED_IN)
async def show_library(
    site: CurrentSite,
    request: Request,
    caller: CurrentCaller,
    after: str = "",
    before: str = "",
    freed: Annotated[int | None, Query(ge=0)] = None,
    sending: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """Show a view; a view that cannot be understood shows everything, and says why."""
    if not request.url.query:
        async with site.transaction() as tx:
            default = await get_default_view(tx, user_id=caller.user_id)
        if default is not None and default.query:
            return RedirectResponse(f"/?{default.query}", status_code=303)
    problem: UserError | None = None
    try:
        view = parse_view(request.url.query)
    except UserError as error:
        view, problem = ShelfView(), error
    address = LibraryAddress(view, layout_of(request))
    place = ListPlace() if problem else ListPlace(after, before)
    said = "" if freed is None else freed_text(freed)
    response = await render_library(site, caller, address, place, problem=problem, said=said, sending=sending)
    if "layout" in request.query_params:
        _remember_layout(site, response, address.layout)
    return response


async def render_library(
    site: Site,
    caller: Caller,
    address: LibraryAddress,
    place: ListPlace | None = None,
    *,
    problem: UserError | None = None,
    said: str = "",
    sending: int = 0,
) -> Response:
    """Return the page; also the demo's entry link answers with it."""
    place = place or ListPlace()
    async with site.transaction() as tx:
        shown = await load_list(tx, address.view, place, clock=site.parts.real_clock)
        chips = await describe_view(tx, address.view)
        counts = await count_library(tx)
        saved = await list_views(tx, user_id=caller.user_id)
        troubled = await list_troubled_listings(tx) if caller.is_admin else []
    response = site.renderer.render(
        "library.html",
        caller=caller,
        address=address,
        view=address.view,
        place=place,
        shown=shown,
        rows=shown.rows,
        chips=chips,
        counts=counts,
        saved=saved,
        problem=problem,
        problems=describe_troubles(troubled),
        said=said,
        sending=sending,
        **_ways_on(address, shown, place),
    )
    response.status_code = 422 if problem else 200
    return response


def _ways_on(address: LibraryAddress, shown: ShownList, place: ListPlace) -> Mapping[str, str]:
    """Return the addresses of the pages around, and of what is loaded later."""
    counted = not address.view.search
    is_start = not (place.after or shown.previous)
    return {
        "next_url": address.at(after=shown.next) if shown.next else "",
        "previous_url": address.at(before=shown.previous) if shown.previous else "",
        "count_url": address.part("/library/count") if counted else "",
        "new_url": address.part("/library/new", top=shown.top) if shown.top and is_start else "",
    }


@routes.get("/library/count", door=SIGNED_IN)
async def show_count(site: CurrentSite, request: Request, caller: CurrentCaller) -> Response:
    """Say how many rows a view has; pages load it afterwards, because it may take longer than they."""
    view = parse_view(request.url.query)
    async with site.transaction() as tx:
        found = await count_shelf(tx, view.filters)
    return site.renderer.render("library_count.html", caller=caller, found=found)


@routes.get("/library/new", door=SIGNED_IN)
async def show_new(site: CurrentSite, request: Request, caller: CurrentCaller, top: str = "") -> Response:
    """Say how many rows have come above the first one that a page has."""
    address = LibraryAddress(parse_view(request.url.query), layout_of(request))
    place = read_shelf_cursor(top, address.view.sort)
    async with site.transaction() as tx:
        found = await count_before(tx, address.view, place) if place else None
    return site.renderer.render(
        "library_new.html",
        caller=caller,
        address=address,
        found=found,
        new_url=address.part("/library/new", top=top),
    )


@routes.get("/library/changed", door=SIGNED_IN)
async def show_changed(
    site: CurrentSite, request: Request, caller: CurrentCaller, known: str = ""
) -> Response:
    """Return those of the rows that a page has which differ from what it shows."""
    versions = _read_known(known)
    async with site.transaction() as tx:
        shown = await show_rows(tx, await list_rows(tx, list(versions)))
        there = {one.row.id for one in shown}
        homes = await find_homes(tx, [row_id for row_id in versions if row_id not in there])
    return site.renderer.render(
        "library_changed.html",
        caller=caller,
        address=LibraryAddress(layout=layout_of(request)),
        rows=[one for one in shown if one.version != versions[one.row.id]],
        gone={row_id: homes.get(row_id) for row_id in versions if row_id not in there},
    )


def _read_known(text: str) -> dict[UUID, str]:
    """Return the rows of a page with their versions; what is no row is passed over."""
    found: dict[UUID, str] = {}
    for one in text.split(",")[:MAX_REFRESHED]:
        identity, _, version = one.partition(".")
        try:
            found[UUID(identity)] = version
        except ValueError:
            continue
    return found


def _remember_layout(site: Site, response: Response, layout: Layout) -> None:
    response.set_cookie(
        LAYOUT_COOKIE,
        layout,
        max_age=int(_LAYOUT_AGE.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=site.parts.settings.public_url.startswith("https://"),
        path="/",
    )
