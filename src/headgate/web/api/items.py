"""Items of the library."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel

from headgate.catalogue.items import ItemDetails, list_page, show_item
from headgate.catalogue.labelled_items import LabelledItem, with_labels
from headgate.domain.text import typed_text
from headgate.storage.catalogue.items import LibraryCursor
from headgate.web.cursors import read_time_cursor, time_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class ItemsAnswer(BaseModel):
    """A page of items, newest first; pass `next` as `before` to get the next page."""

    items: list[LabelledItem]
    next: str | None


@routes.get("/items", door=scope("read"), tags=["library"])
async def list_items(
    site: CurrentSite, q: str = "", before: str = "", limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> ItemsAnswer:
    """List items, newest first; `q` filters by title."""
    below = read_time_cursor(before, LibraryCursor)
    async with site.transaction() as tx:
        page = await list_page(tx, below=below, search=typed_text(q), limit=limit)
        listed = await with_labels(tx, page.items)
    following = time_cursor(page.last.caught_at, page.last.id) if page.last and page.has_older else None
    return ItemsAnswer(items=listed, next=following)


@routes.get("/items/{item_id}", door=scope("read"), tags=["library"])
async def get_item(site: CurrentSite, item_id: UUID) -> ItemDetails:
    """Return an item with the messages in which it was seen, the first one first."""
    async with site.transaction() as tx:
        return await show_item(tx, item_id)
