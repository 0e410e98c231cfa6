"""Actions on the files of items: fetch them, give their content up, or remove the items for ever.

The same for commands, pages and the API, for one item or many; each is one transaction of its caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.library import removals
from headgate.storage.library.removals import Freed

MAX_ITEMS = 10_000
"""Items of one action."""


async def fetch_items(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> int:
    """Download the files of items before everything else, whatever settings say; returns how many files."""
    return await removals.ask_files(tx, await _lock(tx, item_ids), now=now)


async def retry_items(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> int:
    """Download what failed of items again; returns how many files."""
    return await removals.retry_files(tx, await _lock(tx, item_ids), now=now)


async def drop_items(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> Freed:
    """Give the content of items up: they stay listed, and are fetched again only when asked for."""
    freed = await removals.drop_files(tx, await _lock(tx, item_ids), now=now)
    await publish(tx, Event("items"))
    return freed


async def remove_items(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> Freed:
    """Remove items and their content for ever: the same content does not come back to its channel."""
    freed = await removals.remove_items(tx, await _lock(tx, item_ids), now=now)
    await publish(tx, Event("items"))
    return freed


async def _lock(tx: Tx, item_ids: Sequence[UUID]) -> list[UUID]:
    wanted = set(item_ids)
    if len(wanted) > MAX_ITEMS:
        raise UserError(f"At most {MAX_ITEMS:,} items can be changed at once.", remedy="Choose fewer.")
    found = await removals.lock_items(tx, sorted(wanted))
    if missing := wanted - set(found):
        raise NotFound(f"There is no item {min(missing)}.", command="headgate library list")
    return found
