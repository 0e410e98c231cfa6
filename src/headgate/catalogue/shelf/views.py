"""Saved views: what people keep of the library's filters and sorts, each for themselves."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.shelf_filters import parse_view
from headgate.domain.text import storable, typed_text
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.shelf import views
from headgate.storage.shelf.views import SavedView

MAX_VIEWS = 50
"""Of one user."""
MAX_NAME_LENGTH = 100


async def list_views(tx: Tx, *, user_id: UUID) -> list[SavedView]:
    """Return a user's views by name, the default first."""
    return await views.list_views(tx, user_id)


async def save_view(tx: Tx, *, name: str, query: str, user_id: UUID, ids: Ids, now: datetime) -> SavedView:
    """Save a view under a new name; the query is that of the library's address."""
    name, query = _checked_name(name), parse_view(query).query
    await views.lock_user(tx, user_id)
    if len(await views.list_views(tx, user_id)) >= MAX_VIEWS:
        raise UserError(f"You can save at most {MAX_VIEWS} views.", remedy="Delete one first.", field="name")
    view_id = ids.new()
    if not await views.insert_view(tx, view_id, user_id=user_id, name=name, query=query, now=now):
        raise _taken(name)
    return await _changed(tx, view_id, user_id=user_id)


async def rename_view(tx: Tx, view_id: UUID, *, name: str, user_id: UUID) -> SavedView:
    name = _checked_name(name)
    await _lock(tx, view_id, user_id=user_id)
    if await views.is_name_taken(tx, view_id, user_id=user_id, name=name):
        raise _taken(name)
    await views.change_view(tx, view_id, user_id=user_id, name=name)
    return await _changed(tx, view_id, user_id=user_id)


async def replace_view(tx: Tx, view_id: UUID, *, query: str, user_id: UUID) -> SavedView:
    """Let a view show something else."""
    query = parse_view(query).query
    await _lock(tx, view_id, user_id=user_id)
    await views.change_view(tx, view_id, user_id=user_id, query=query)
    return await _changed(tx, view_id, user_id=user_id)


async def set_default_view(tx: Tx, view_id: UUID, *, user_id: UUID, is_default: bool = True) -> SavedView:
    """Let the library begin with a view, and with no other; or not with this one any more."""
    view = await _lock(tx, view_id, user_id=user_id)
    if is_default or view.is_default:
        await views.set_default(tx, view_id if is_default else None, user_id=user_id)
    return await _changed(tx, view_id, user_id=user_id)


async def delete_view(tx: Tx, view_id: UUID, *, user_id: UUID) -> SavedView:
    """Delete a view and return it; what it shows stays."""
    view = await _lock(tx, view_id, user_id=user_id)
    await views.delete_view(tx, view_id, user_id=user_id)
    await _publish(tx, user_id)
    return view


async def get_default_view(tx: Tx, *, user_id: UUID) -> SavedView | None:
    """Return the view that the library begins with; none for everything."""
    return next((view for view in await views.list_views(tx, user_id) if view.is_default), None)


async def _lock(tx: Tx, view_id: UUID, *, user_id: UUID) -> SavedView:
    await views.lock_user(tx, user_id)
    return await _get(tx, view_id, user_id=user_id)


async def _get(tx: Tx, view_id: UUID, *, user_id: UUID) -> SavedView:
    view = await views.get_view(tx, view_id, user_id=user_id)
    if view is None:
        raise NotFound("There is no such view.", remedy="It may have been deleted.")
    return view


async def _changed(tx: Tx, view_id: UUID, *, user_id: UUID) -> SavedView:
    await _publish(tx, user_id)
    return await _get(tx, view_id, user_id=user_id)


async def _publish(tx: Tx, user_id: UUID) -> None:
    await publish(tx, Event("views", user_id))


def _checked_name(typed: str) -> str:
    name = typed_text(storable(typed), max_length=MAX_NAME_LENGTH + 1)
    if not name:
        raise UserError("A view needs a name.", field="name")
    if len(name) > MAX_NAME_LENGTH:
        raise UserError(f"The name of a view has at most {MAX_NAME_LENGTH} characters.", field="name")
    return name


def _taken(name: str) -> UserError:
    return UserError(f"You have a view called {name!r} already.", remedy="Choose another name.", field="name")
