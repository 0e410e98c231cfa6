"""Comparing what the library shows with what it has."""

from __future__ import annotations

from collections.abc import Callable

from headgate.storage.database import Database
from headgate.storage.events import Event, publish
from headgate.storage.shelf.verify import VerifiedShelf, verify_shelf

Progress = Callable[[int, int], None]


async def verify_library(database: Database, *, repair: bool, on_progress: Progress) -> VerifiedShelf:
    """Compare every row of the library with its sources; with `repair`, write those that differ."""
    found = VerifiedShelf(0, 0, 0)
    async for found in verify_shelf(database, repair=repair):
        on_progress(found.items, found.total)
    if repair and not found.sound:
        async with database.transaction() as tx:
            await publish(tx, Event("items"))
    return found
