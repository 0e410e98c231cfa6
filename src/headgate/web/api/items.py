"""Items of the library."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel

from headgate.catalogue.items import list_page
from headgate.domain.text import typed_text
from headgate.storage.catalogue.items import Item, ItemKind
from headgate.web.cursors import read_place, write_place
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class ItemAnswer(BaseModel):
    """A thing caught."""

    id: UUID
    kind: ItemKind
    title: str
    size_bytes: int
    sent_at: datetime
    caught_at: datetime
    channel_id: UUID
    channel_title: str
    url: str

    @classmethod
    def of(cls, item: Item) -> ItemAnswer:
        return cls(**vars(item))


class ItemsAnswer(BaseModel):
    """A page of items, newest caught first; `next` goes into `before` of the next call."""

    items: list[ItemAnswer]
    next: str | None


@routes.get("/items", door=scope("read"), tags=["library"])
async def list_items(
    site: CurrentSite, q: str = "", before: str = "", limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> ItemsAnswer:
    """List what was caught, newest first; `q` filters by title."""
    below = read_place(before) if before else None
    async with site.transaction() as tx:
        page = await list_page(tx, below=below, search=typed_text(q), limit=limit)
    following = write_place(page.last) if page.last and page.has_older else None
    return ItemsAnswer(items=[ItemAnswer.of(item) for item in page.items], next=following)
