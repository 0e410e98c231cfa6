"""Where messages can go, and lists of such places."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.domain.text import typed_text
from headgate.outflow.reminders import targets
from headgate.storage.reminders.target_lists import ListLine, Member, list_lists, list_members
from headgate.storage.reminders.targets import FIRST, TargetCursor, TargetLine, search_targets
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)

MANY_IDS_BYTES = 8 * 1000 * 1000
"""Room for a hundred thousand ids."""
Limit = Annotated[int, Query(ge=1, le=500)]


class TargetsAnswer(BaseModel):
    """A page of targets by title; pass `next` as `after` to get the next page."""

    targets: list[TargetLine]
    next: str | None


class ListsAnswer(BaseModel):
    lists: list[ListLine]


class MembersAnswer(BaseModel):
    """A page of a list in its order; pass `next` as `after` to get the next page."""

    members: list[Member]
    next: int | None


class ListWish(BaseModel):
    """A new list, with its first members."""

    name: str = Field(max_length=1000)
    targets: list[UUID] = []


class ListChange(BaseModel):
    """The fields to change; omitted ones stay."""

    name: str | None = Field(default=None, max_length=1000)
    add: list[UUID] = []
    remove: list[UUID] = []
    confirm: bool = False
    """Change it also if reminders then have nobody to send to."""


@routes.get("/targets", door=scope("read"), tags=["targets"])
async def search(
    site: CurrentSite, q: str = "", account_id: UUID | None = None, after: str = "", limit: Limit = 100
) -> TargetsAnswer:
    """List targets by title; `q` are words in the title, `account_id` an account that sees them."""
    place = read_title_cursor(after, TargetCursor) or FIRST
    async with site.transaction() as tx:
        found = await search_targets(
            tx, words=typed_text(q), account_id=account_id, after=place, limit=limit + 1
        )
    lines, following = cut_page(found, limit, lambda line: title_cursor(line.title, line.id))
    return TargetsAnswer(targets=lines, next=following)


@routes.get("/target-lists", door=scope("read"), tags=["targets"])
async def list_all(site: CurrentSite) -> ListsAnswer:
    """List the saved lists by name."""
    async with site.transaction() as tx:
        found = await list_lists(tx)
    return ListsAnswer(lists=found)


@routes.post(
    "/target-lists",
    door=scope("write"),
    status_code=201,
    tags=["targets"],
    largest_body_bytes=MANY_IDS_BYTES,
)
async def create(site: CurrentSite, wish: ListWish) -> ListLine:
    """Create a list."""
    async with site.transaction() as tx:
        list_id = await targets.create_list(
            tx, wish.name, wish.targets, ids=site.parts.ids, now=site.parts.clock.now()
        )
        return await targets.find_list(tx, str(list_id))


@routes.get("/target-lists/{list_id}/members", door=scope("read"), tags=["targets"])
async def members(
    site: CurrentSite,
    list_id: UUID,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Limit = 100,
) -> MembersAnswer:
    """List the targets of a list, in sending order."""
    async with site.transaction() as tx:
        found = await list_members(tx, list_id, after=after, limit=limit + 1)
    shown = found[:limit]
    following = shown[-1].place if len(found) > limit else None
    return MembersAnswer(members=shown, next=following)


@routes.post(
    "/target-lists/{list_id}", door=scope("write"), tags=["targets"], largest_body_bytes=MANY_IDS_BYTES
)
async def change(site: CurrentSite, list_id: UUID, wish: ListChange) -> ListLine:
    """Rename a list, add targets, and remove targets."""
    async with site.transaction() as tx:
        if wish.name is not None:
            await targets.rename_list(tx, list_id, wish.name)
        await targets.remove_members(tx, list_id, wish.remove, add=wish.add, confirmed=wish.confirm)
        return await targets.find_list(tx, str(list_id))


@routes.delete("/target-lists/{list_id}", door=scope("write"), status_code=204, tags=["targets"])
async def delete(site: CurrentSite, list_id: UUID) -> None:
    """Delete a list; refused while reminders send to it."""
    async with site.transaction() as tx:
        await targets.delete_list(tx, list_id)
