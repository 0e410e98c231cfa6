"""Actions on items: fetch, drop and remove their files, and mend sets."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel, Field

from headgate.catalogue import sets
from headgate.catalogue.files import MAX_ITEMS, drop_items, fetch_items, remove_items
from headgate.intake.channels.requests import retry_set
from headgate.storage.library.removals import Freed
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class ItemsWish(BaseModel):
    """Several items; all of them change, or none does."""

    items: list[UUID] = Field(min_length=1, max_length=MAX_ITEMS)


class FilesWish(BaseModel):
    """Files of a set, by their ids; omitted: all."""

    files: list[UUID] | None = Field(default=None, max_length=MAX_ITEMS)


class FilesAnswer(BaseModel):
    """How many files the action concerns."""

    files: int


class JoinAnswer(BaseModel):
    """The item that the others are part of."""

    item: UUID


@routes.post("/items/fetch", door=scope("write"), tags=["library"])
async def fetch(site: CurrentSite, wish: ItemsWish) -> FilesAnswer:
    """Download the files of items next, whatever the settings say."""
    async with site.transaction() as tx:
        return FilesAnswer(files=await fetch_items(tx, wish.items, now=site.parts.clock.now()))


@routes.post("/items/drop", door=scope("admin"), tags=["library"])
async def drop(site: CurrentSite, wish: ItemsWish) -> Freed:
    """Delete the stored files of items; the items stay listed."""
    async with site.transaction() as tx:
        return await drop_items(tx, wish.items, now=site.parts.clock.now())


@routes.post("/items/remove", door=scope("admin"), tags=["library"])
async def remove(site: CurrentSite, wish: ItemsWish) -> Freed:
    """Remove items and their files for ever; the same content does not come back."""
    async with site.transaction() as tx:
        return await remove_items(tx, wish.items, now=site.parts.clock.now())


@routes.post("/items/join", door=scope("write"), tags=["library"])
async def join(site: CurrentSite, wish: ItemsWish) -> JoinAnswer:
    """Make one set of several items of a channel; the first one stays, and the others lead there."""
    async with site.transaction() as tx:
        return JoinAnswer(item=await sets.join_items(tx, wish.items, now=site.parts.clock.now()))


@routes.post("/items/{item_id}/separate", door=scope("write"), tags=["library"])
async def separate(site: CurrentSite, item_id: UUID, wish: FilesWish) -> FilesAnswer:
    """Take files out of a set, for good."""
    async with site.transaction() as tx:
        separated = await sets.separate_files(tx, item_id, wish.files, now=site.parts.clock.now())
    return FilesAnswer(files=separated)


@routes.post("/items/{item_id}/retry", door=scope("write"), status_code=204, tags=["library"])
async def retry(site: CurrentSite, item_id: UUID) -> None:
    """Look for missing volumes again, and download what failed."""
    async with site.transaction() as tx:
        await retry_set(tx, item_id, ids=site.parts.ids, now=site.parts.clock.now())


@routes.post("/items/{item_id}/dismiss", door=scope("write"), status_code=204, tags=["library"])
async def dismiss(site: CurrentSite, item_id: UUID) -> None:
    """Let a set be as incomplete as it is."""
    async with site.transaction() as tx:
        await sets.dismiss_problem(tx, item_id, now=site.parts.clock.now())
