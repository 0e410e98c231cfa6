"""The library: what was caught, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Response

from headgate.catalogue.items import COUNT_CAP, ItemPage, count_library, list_newest, list_page
from headgate.catalogue.stored import list_thumbnails
from headgate.domain.text import typed_text
from headgate.storage.catalogue.items import LibraryCursor
from headgate.storage.listings.listing_overview import describe_troubles, list_troubled_listings
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cursors import read_time_cursor, time_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site

routes = Routes()

PAGE_LENGTH = 50


@dataclass(frozen=True)
class LibraryQuery:
    """What a person looks at: words to search for, and which part of the list."""

    search: str = ""
    before: str = ""
    """The place below which to begin."""
    until: str = ""
    """The place down to which a page shows its newest part; asked for when something arrived."""

    def address(self, **changes: str) -> str:
        """Return the address of the same search at another place."""
        query = urlencode({name: value for name, value in {"q": self.search, **changes}.items() if value})
        return f"/?{query}" if query else "/"


@routes.get("/", door=SIGNED_IN)
async def show_library(
    site: CurrentSite, caller: CurrentCaller, q: str = "", before: str = "", until: str = ""
) -> Response:
    return await render_library(site, caller, LibraryQuery(typed_text(q), before, until))


async def render_library(site: Site, caller: Caller, wish: LibraryQuery) -> Response:
    """Return the page; also the demo's entry link answers with it."""
    overflow = False
    async with site.transaction() as tx:
        page: ItemPage | None = None
        if down_to := read_time_cursor(wish.until, LibraryCursor):
            page = await list_newest(tx, down_to=down_to, search=wish.search)
            overflow = page is None
        if page is None:
            below = read_time_cursor(wish.before, LibraryCursor)
            page = await list_page(tx, below=below, search=wish.search, limit=PAGE_LENGTH)
        counts = await count_library(tx)
        pictures = await list_thumbnails(tx, [item.id for item in page.items])
        troubled = await list_troubled_listings(tx) if caller.is_admin else []
    last = time_cursor(page.last.caught_at, page.last.id) if page.last else ""
    response = site.renderer.render(
        "library.html",
        caller=caller,
        wish=wish,
        page=page,
        pictures=pictures,
        counts=counts,
        problems=describe_troubles(troubled),
        count_cap=COUNT_CAP,
        reload_url=wish.address(),
        newest_url=wish.address(until=wish.until or last),
        older_url=wish.address(before=last) if page.has_older else "",
    )
    if overflow:
        # More arrived than one answer holds, so the list below would have a gap: all of it is replaced.
        response.headers["hx-retarget"] = "#library"
        response.headers["hx-reselect"] = "#library"
        response.headers["hx-reswap"] = "outerHTML"
    return response
