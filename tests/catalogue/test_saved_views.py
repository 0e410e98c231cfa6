"""Saved views: each user's own, with one default, and limits."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from headgate.catalogue.shelf import views
from headgate.domain.errors import NotFound, UserError
from headgate.kernel.clock import VirtualClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Database
from headgate.storage.shelf.views import SavedView

NOW = datetime(2026, 5, 4, tzinfo=UTC)
IDS = Ids(VirtualClock(NOW), Randomness(1))


async def add_user(database: Database, name: str) -> UUID:
    user_id = uuid4()
    async with database.transaction() as tx:
        await tx.raw(
            "insert into app_user (id, name, role, password_hash, created_at)"
            " values ($1, $2, 'member', 'x', $3)",
            [user_id, name, NOW],
        )
    return user_id


async def save(database: Database, user: UUID, name: str, query: str = "tag=elves") -> SavedView:
    async with database.transaction() as tx:
        return await views.save_view(tx, name=name, query=query, user_id=user, ids=IDS, now=NOW)


async def listed(database: Database, user: UUID) -> list[tuple[str, str, bool]]:
    async with database.transaction() as tx:
        return [(view.name, view.query, view.is_default) for view in await views.list_views(tx, user_id=user)]


async def test_views_are_saved_renamed_replaced_and_deleted(database: Database) -> None:
    ada = await add_user(database, "ada")
    view = await save(database, ada, "  Elves  of ", "?sort=name&tag=ELVES&page=3")
    assert await listed(database, ada) == [("Elves of", "tag=elves&sort=name", False)]
    async with database.transaction() as tx:
        await views.rename_view(tx, view.id, name="Elves", user_id=ada)
        await views.replace_view(tx, view.id, query="kind=clip", user_id=ada)
    assert await listed(database, ada) == [("Elves", "kind=clip", False)]
    async with database.transaction() as tx:
        await views.delete_view(tx, view.id, user_id=ada)
    assert await listed(database, ada) == []


async def test_one_view_at_most_is_the_default(database: Database) -> None:
    ada = await add_user(database, "ada")
    first, second = await save(database, ada, "b"), await save(database, ada, "a")
    async with database.transaction() as tx:
        await views.set_default_view(tx, first.id, user_id=ada)
        await views.set_default_view(tx, second.id, user_id=ada)
    assert [(name, is_default) for name, _, is_default in await listed(database, ada)] == [
        ("a", True),
        ("b", False),
    ]
    async with database.transaction() as tx:
        await views.set_default_view(tx, first.id, user_id=ada, is_default=False)
        found = await views.get_default_view(tx, user_id=ada)
        assert found is not None
        assert found.id == second.id
        await views.set_default_view(tx, second.id, user_id=ada, is_default=False)
        assert await views.get_default_view(tx, user_id=ada) is None


async def test_nobody_sees_or_changes_the_views_of_another(database: Database) -> None:
    ada, ben = await add_user(database, "ada"), await add_user(database, "ben")
    view = await save(database, ada, "Elves")
    await save(database, ben, "elves")
    assert len(await listed(database, ben)) == 1
    async with database.transaction() as tx:
        for change in (
            views.rename_view(tx, view.id, name="x", user_id=ben),
            views.replace_view(tx, view.id, query="", user_id=ben),
            views.set_default_view(tx, view.id, user_id=ben),
            views.delete_view(tx, view.id, user_id=ben),
        ):
            with pytest.raises(NotFound):
                await change
    assert await listed(database, ada) == [("Elves", "tag=elves", False)]


async def test_names_are_checked(database: Database) -> None:
    ada = await add_user(database, "ada")
    await save(database, ada, "Elves")
    await save(database, ada, "x" * 100)
    other = await save(database, ada, "Other")
    for name in ("", " \x00 ", "x" * 101, "ELVES"):
        with pytest.raises(UserError) as refused:
            await save(database, ada, name)
        assert refused.value.field == "name"
    async with database.transaction() as tx:
        with pytest.raises(UserError, match="already"):
            await views.rename_view(tx, other.id, name="elves", user_id=ada)
        await views.rename_view(tx, other.id, name="OTHER", user_id=ada)
    with pytest.raises(UserError) as refused:
        await save(database, ada, "Bad", "kind=thing")
    assert refused.value.field == "kind"


async def test_at_most_fifty_views_also_when_they_are_saved_at_once(database: Database) -> None:
    ada = await add_user(database, "ada")
    for number in range(views.MAX_VIEWS - 1):
        await save(database, ada, f"view {number}")
    results = await asyncio.gather(
        *(save(database, ada, f"more {number}") for number in range(4)), return_exceptions=True
    )
    assert sum(isinstance(result, UserError) for result in results) == 3
    assert len(await listed(database, ada)) == views.MAX_VIEWS


async def test_two_views_of_one_name_at_once_are_one(database: Database) -> None:
    ada = await add_user(database, "ada")
    results = await asyncio.gather(*(save(database, ada, "Elves") for _ in range(3)), return_exceptions=True)
    assert sum(isinstance(result, UserError) for result in results) == 2
    assert len(await listed(database, ada)) == 1
