"""The caller's saved views of the library."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel, Field

from headgate.catalogue.shelf import views
from headgate.catalogue.shelf.views import MAX_NAME_LENGTH
from headgate.domain.errors import UserError
from headgate.domain.library.shelf_filters import MAX_QUERY_LENGTH
from headgate.storage.shelf.views import SavedView
from headgate.web.callers import CurrentCaller
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class ViewsAnswer(BaseModel):
    """The caller's views by name, the default first."""

    views: list[SavedView]


class NewView(BaseModel):
    """A view and its name; the query is that of `GET /api/v1/library`."""

    name: str = Field(max_length=2 * MAX_NAME_LENGTH)
    query: str = Field(default="", max_length=MAX_QUERY_LENGTH)


class ViewChange(BaseModel):
    """The fields to change; omitted ones stay."""

    name: str | None = Field(default=None, max_length=2 * MAX_NAME_LENGTH)
    query: str | None = Field(default=None, max_length=MAX_QUERY_LENGTH)
    is_default: bool | None = None


@routes.get("/library/views", door=scope("read"), tags=["library"])
async def list_views(site: CurrentSite, caller: CurrentCaller) -> ViewsAnswer:
    """List the caller's views."""
    async with site.transaction() as tx:
        return ViewsAnswer(views=await views.list_views(tx, user_id=caller.user_id))


@routes.post("/library/views", door=scope("write"), status_code=201, tags=["library"])
async def save_view(site: CurrentSite, caller: CurrentCaller, view: NewView) -> SavedView:
    """Save a view under a new name."""
    parts = site.parts
    async with site.transaction() as tx:
        return await views.save_view(
            tx, name=view.name, query=view.query, user_id=caller.user_id, ids=parts.ids, now=parts.clock.now()
        )


@routes.patch("/library/views/{view_id}", door=scope("write"), tags=["library"])
async def change_view(
    site: CurrentSite, caller: CurrentCaller, view_id: UUID, change: ViewChange
) -> SavedView:
    """Rename a view, let it show something else, or let the library begin with it or not."""
    changed: SavedView | None = None
    async with site.transaction() as tx:
        if change.name is not None:
            changed = await views.rename_view(tx, view_id, name=change.name, user_id=caller.user_id)
        if change.query is not None:
            changed = await views.replace_view(tx, view_id, query=change.query, user_id=caller.user_id)
        if change.is_default is not None:
            changed = await views.set_default_view(
                tx, view_id, user_id=caller.user_id, is_default=change.is_default
            )
    if changed is None:
        raise UserError("Nothing is to be changed.", remedy="Give a name, a query or is_default.")
    return changed


@routes.delete("/library/views/{view_id}", door=scope("write"), status_code=204, tags=["library"])
async def delete_view(site: CurrentSite, caller: CurrentCaller, view_id: UUID) -> None:
    """Delete a view; what it shows stays."""
    async with site.transaction() as tx:
        await views.delete_view(tx, view_id, user_id=caller.user_id)
