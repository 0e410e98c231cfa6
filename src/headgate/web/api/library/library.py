"""The library as it is shown: one row for each group, item or content."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query, Request
from pydantic import BaseModel

from headgate.catalogue.shelf.listing import (
    ListedRow,
    ShelfCount,
    count_before,
    count_shelf,
    list_shelf,
)
from headgate.catalogue.shelf.members import ShelfMember, list_members
from headgate.domain.errors import UserError
from headgate.domain.library.shelf_filters import ShelfView, read_view
from headgate.web.cursors import read_shelf_cursor, shelf_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)

MAX_ROWS = 200


class LibraryAnswer(BaseModel):
    """A page of the library; pass `next` as `after` or `previous` as `before` to get the others."""

    rows: list[ListedRow]
    next: str | None
    previous: str | None


class GroupMembersAnswer(BaseModel):
    """The members of each row, in the order in which they were posted; at most 200 of each."""

    members: dict[UUID, list[ShelfMember]]


def _read(
    request: Request,
    _channel: Annotated[
        list[str], Query(alias="channel", description="Ids of channels; one is enough.")
    ] = [],  # noqa: B006 - FastAPI copies it
    _topic: Annotated[
        list[str], Query(alias="topic", description="`<channel id>/<topic key>`; one is enough.")
    ] = [],  # noqa: B006
    _creator: Annotated[list[str], Query(alias="creator", description="Names; one is enough.")] = [],  # noqa: B006
    _tag: Annotated[list[str], Query(alias="tag", description="Names; all of them must be there.")] = [],  # noqa: B006
    _type: Annotated[list[str], Query(alias="type", description="Such as `zip` or `stl`.")] = [],  # noqa: B006
    _kind: Annotated[list[str], Query(alias="kind", description="Such as `package` or `clip`.")] = [],  # noqa: B006
    _state: Annotated[list[str], Query(alias="state", description="Such as `stored` or `waiting`.")] = [],  # noqa: B006
    _from: Annotated[str, Query(alias="from", description="The first day, in UTC: 2026-01-31.")] = "",
    _to: Annotated[str, Query(alias="to", description="The last day.")] = "",
    _min_size: Annotated[str, Query(alias="min_size", description="Such as `500 kB`, or bytes.")] = "",
    _max_size: Annotated[str, Query(alias="max_size")] = "",
    _ungrouped: Annotated[str, Query(alias="ungrouped", description="`1`: only what is in no group.")] = "",
    _problems: Annotated[str, Query(alias="problems", description="`1`: only what has a problem.")] = "",
    _sort: Annotated[
        str,
        Query(alias="sort", description="`newest`, `oldest`, `name`, `size` (largest first), `smallest`."),
    ] = "",
) -> ShelfView:
    """Return what the query asks for; the parameters are here for the description of the API."""
    return read_view(request.query_params.multi_items())


LibraryView = Annotated[ShelfView, Depends(_read)]


@routes.get("/library", door=scope("read"), tags=["library"])
async def list_library(
    site: CurrentSite,
    view: LibraryView,
    after: str = "",
    before: str = "",
    limit: Annotated[int, Query(ge=1, le=MAX_ROWS)] = 50,
) -> LibraryAnswer:
    """List the library. All filters must match one item; a group is listed if one member matches."""
    if after and before:
        raise UserError("Give `after` or `before`, not both.", field="after")
    async with site.transaction() as tx:
        page = await list_shelf(
            tx,
            view,
            after=read_shelf_cursor(after, view.sort),
            before=read_shelf_cursor(before, view.sort),
            limit=limit,
        )
    return LibraryAnswer(rows=page.rows, next=shelf_cursor(page.next), previous=shelf_cursor(page.previous))


@routes.get("/library/count", door=scope("read"), tags=["library"])
async def count_library(site: CurrentSite, view: LibraryView, before: str = "") -> ShelfCount:
    """Count rows up to 10,000, or those that have come before a place, up to 100."""
    place = read_shelf_cursor(before, view.sort)
    async with site.transaction() as tx:
        return await (count_before(tx, view, place) if place else count_shelf(tx, view.filters))


@routes.get("/library/members", door=scope("read"), tags=["library"])
async def get_members(
    site: CurrentSite, row: Annotated[list[UUID], Query(min_length=1, max_length=MAX_ROWS)]
) -> GroupMembersAnswer:
    """List the members of groups, or the copies of one content, for several rows at once."""
    async with site.transaction() as tx:
        return GroupMembersAnswer(members=await list_members(tx, row))
