"""Search in the library."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from headgate.catalogue.search.places import read_place
from headgate.catalogue.search.searching import Hit, search_library
from headgate.domain.text import typed_text
from headgate.web.api.library.library import LibraryView
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class SearchAnswer(BaseModel):
    """The best hits first, the newest of them first; pass `next` as `after` to get the next page."""

    hits: list[Hit]
    found: int
    """Rows that were found so far back."""
    searched_back_to: datetime | None
    """Null: the whole library was searched."""
    meant: dict[str, tuple[str, ...]]
    """What was searched for instead of words that are probably misspelt."""
    next: str | None


@routes.get("/library/search", door=scope("read"), tags=["library"])
async def search(
    site: CurrentSite,
    view: LibraryView,
    q: Annotated[str, Query(description="Words, or how they begin.")] = "",
    after: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SearchAnswer:
    """Search names, captions, creators, tags and the names of files inside archives."""
    async with site.transaction() as tx:
        page = await search_library(
            tx,
            typed_text(q),
            clock=site.parts.clock,
            filters=view.filters,
            limit=limit,
            after=read_place(after),
        )
    return SearchAnswer(
        hits=list(page.hits),
        found=page.found,
        searched_back_to=page.searched_back_to,
        meant=page.meant,
        next=str(page.following) if page.following else None,
    )
