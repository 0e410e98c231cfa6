"""The saved views of users: filters and sort of the library under a name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class SavedView:
    """A view of the library under a name."""

    id: UUID
    name: str
    query: str
    """As in the address of the page."""
    is_default: bool
    """The library begins with it."""
    created_at: datetime


async def lock_user(tx: Tx, user_id: UUID) -> None:
    """Let others who change the views of a user wait until the transaction ends."""
    await tx.value(Q["lock_user"], user_id=user_id)


async def list_views(tx: Tx, user_id: UUID) -> list[SavedView]:
    return await tx.all(SavedView, Q["list_views"], user_id=user_id)


async def get_view(tx: Tx, view_id: UUID, *, user_id: UUID) -> SavedView | None:
    return await tx.one(SavedView, Q["get_view"], id=view_id, user_id=user_id)


async def insert_view(tx: Tx, view_id: UUID, *, user_id: UUID, name: str, query: str, now: datetime) -> bool:
    """Return whether the name was free."""
    row = await tx.row(Q["insert_view"], id=view_id, user_id=user_id, name=name, query=query, now=now)
    return bool(row)


async def change_view(
    tx: Tx, view_id: UUID, *, user_id: UUID, name: str | None = None, query: str | None = None
) -> None:
    await tx.execute(Q["change_view"], id=view_id, user_id=user_id, name=name, query=query)


async def is_name_taken(tx: Tx, view_id: UUID, *, user_id: UUID, name: str) -> bool:
    """Tell whether another view of the user has the name, in upper or lower case."""
    return await tx.value(Q["is_name_taken"], id=view_id, user_id=user_id, name=name)


async def set_default(tx: Tx, view_id: UUID | None, *, user_id: UUID) -> None:
    """Make a view the one that the library begins with; without one it begins with everything."""
    await tx.execute(Q["clear_default"], user_id=user_id)
    if view_id is not None:
        await tx.execute(Q["set_default"], id=view_id, user_id=user_id)


async def delete_view(tx: Tx, view_id: UUID, *, user_id: UUID) -> None:
    await tx.execute(Q["delete_view"], id=view_id, user_id=user_id)
