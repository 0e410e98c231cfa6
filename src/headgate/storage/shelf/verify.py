"""Compares the shelf with what it is derived from, and repairs it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from uuid import UUID

from headgate.storage.database import Database, Tx
from headgate.storage.queries import load_queries
from headgate.storage.shelf.refresh import LARGE_GROUP, refresh

Q = load_queries(__name__)

BATCH = 500
_FIRST = UUID(int=0)


@dataclass(frozen=True)
class VerifiedShelf:
    """How far a comparison is, and what it has found."""

    items: int
    total: int
    wrong_rows: int
    """Rows that were missing, out of date, or of nothing."""
    wrong_facets: int = 0
    """Places in the lists by channel, topic, creator and tag that were wrong."""

    @property
    def sound(self) -> bool:
        return not (self.wrong_rows or self.wrong_facets)


async def verify_shelf(database: Database, *, repair: bool) -> AsyncIterator[VerifiedShelf]:
    """Compute every row anew, batch by batch, and yield how many differ; they are written only to repair."""
    async with database.transaction() as tx:
        total: int = await tx.value(Q["count_items"])
    done, wrong, after = 0, 0, _FIRST
    while True:
        async with database.transaction() as tx:
            ids: list[UUID] = await tx.column(Q["list_items_after"], after=after, limit=BATCH)
            if not ids:
                break
            wrong += len(await _compute(tx, ids, repair=repair))
        done, after = done + len(ids), ids[-1]
        yield VerifiedShelf(done, max(total, done), wrong)
    wrong += await _verify_large_groups(database, repair=repair)
    orphans = await _find_orphans(database, repair=repair)
    facets = await _check_facets(database, repair=repair)
    yield VerifiedShelf(done, max(total, done), wrong + orphans, facets)


async def _compute(
    tx: Tx, item_ids: Collection[UUID], *, groups: Collection[UUID] = (), repair: bool
) -> list[UUID]:
    """Return the rows that were wrong; they are written only to repair."""
    if repair:
        return await refresh(tx, item_ids, groups=groups)
    async with tx.undone():
        return await refresh(tx, item_ids, groups=groups)


async def _verify_large_groups(database: Database, *, repair: bool) -> int:
    """Compare groups whose rows are not written with each of their items; returns how many were wrong."""
    async with database.transaction() as tx:
        large: list[UUID] = await tx.column(Q["list_large_groups"], limit=LARGE_GROUP)
    wrong = 0
    for group_id in large:
        async with database.transaction() as tx:
            wrong += len(await _compute(tx, (), groups=[group_id], repair=repair))
    return wrong


async def _find_orphans(database: Database, *, repair: bool) -> int:
    """Return how many rows are of nothing."""
    found = 0
    while True:
        async with database.transaction() as tx:
            ids: list[UUID] = await tx.column(Q["list_orphans"], limit=BATCH)
            found += len(ids)
            if ids and repair:
                await tx.execute(Q["delete_orphans"], ids=ids)
        if len(ids) < BATCH or not repair:
            return found


async def _check_facets(database: Database, *, repair: bool) -> int:
    async with database.transaction() as tx:
        wrong: int = await tx.value(Q["count_wrong_facets"])
        if wrong and repair:
            await tx.execute(Q["delete_wrong_facets"])
            await tx.execute(Q["insert_missing_facets"])
    return wrong
