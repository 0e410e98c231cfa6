"""The page of an item: what was said, its files, what is inside them, and where it was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.items import ItemDetails, show_item
from headgate.catalogue.stored import ContentsPage, list_contents
from headgate.domain.text import storable, typed_text
from headgate.domain.words.file_words import freed_text
from headgate.ingest.serving.downloads import MAX_NESTED_ENTRIES
from headgate.web import stored_files
from headgate.web.callers import CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite

routes = Routes()

_NESTED = (".zip", ".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".cbz", ".cbr")


@dataclass(frozen=True)
class ContentsView:
    """One folder or one search, with the addresses of its neighbours."""

    item_id: UUID
    page: ContentsPage

    def address(self, *, under: str = "", search: str = "", skip: int = 0) -> str:
        """Return the address of another folder, search or page; the item's own page at the top."""
        wish = {"under": under.strip("/"), "find": search, "skip": str(skip) if skip else ""}
        query = urlencode({name: value for name, value in wish.items() if value})
        return f"/items/{self.item_id}{f'?{query}' if query else ''}#inside"

    @property
    def crumbs(self) -> list[tuple[str, str]]:
        """The folders above, each with its address."""
        parts = [part for part in self.page.under.split("/") if part]
        return [(part, self.address(under="/".join(parts[: place + 1]))) for place, part in enumerate(parts)]

    @property
    def next_url(self) -> str:
        if self.page.next is None:
            return ""
        return self.address(under=self.page.under, search=self.page.search, skip=self.page.next)

    def may_be_opened(self, path: str) -> bool:
        """Tell whether a file inside looks like an archive itself."""
        return path.lower().endswith(_NESTED)


@routes.get("/items/{item_id}", door=SIGNED_IN)
async def show_one(
    site: CurrentSite,
    caller: CurrentCaller,
    item_id: UUID,
    under: str = "",
    find: str = "",
    skip: int = 0,
    freed: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show an item, what was said with it, what is stored, and where it was seen."""
    async with site.transaction() as tx:
        details = await show_item(tx, item_id)
        if details.item.id != item_id:
            return RedirectResponse(f"/items/{details.item.id}", status_code=308)
        view = None
        if details.stored.has_tree:
            page = await list_contents(
                tx, item_id, under=storable(under), search=typed_text(find), skip=max(0, min(skip, 10**7))
            )
            view = ContentsView(item_id, page)
    return site.renderer.render(
        "item.html",
        caller=caller,
        details=details,
        item=details.item,
        stored=details.stored,
        inside=view,
        progress_of=site.hub.downloads.get,
        freed="" if freed is None else freed_text(freed),
    )


@routes.get("/items/{item_id}/contents/{number}/inside", door=SIGNED_IN)
async def show_nested(site: CurrentSite, caller: CurrentCaller, item_id: UUID, number: int) -> Response:
    """Show what is inside an archive inside the archive."""
    path, listing = await stored_files.read_nested(site, item_id, number)
    async with site.transaction() as tx:
        details: ItemDetails = await show_item(tx, item_id)
    return site.renderer.render(
        "item_nested.html",
        caller=caller,
        item=details.item,
        path=path,
        listing=listing,
        entries=listing.entries[:MAX_NESTED_ENTRIES],
        more=len(listing.entries) - MAX_NESTED_ENTRIES,
    )


@routes.get("/items/{item_id}/files/{file_id}", door=SIGNED_IN)
async def download_file(site: CurrentSite, request: Request, item_id: UUID, file_id: UUID) -> Response:
    return await stored_files.answer_file(site, request, item_id, file_id)


@routes.get("/items/{item_id}/download", door=SIGNED_IN)
async def download_item(site: CurrentSite, request: Request, item_id: UUID) -> Response:
    return await stored_files.answer_zip(site, request, item_id)


@routes.get("/items/{item_id}/contents/{number}", door=SIGNED_IN)
async def download_entry(site: CurrentSite, request: Request, item_id: UUID, number: int) -> Response:
    return await stored_files.answer_entry(site, request, item_id, number)
