"""The collector: what nothing refers to any more is doomed, and what is doomed is deleted, each in its time.

Each step is a set of short transactions and safe to repeat or to run twice at once. `collect` is for every
few minutes; `sweep_orphans` lists the whole store and is for once a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.kernel.logs import get_logger
from headgate.storage.blobs import doomed, intents
from headgate.storage.blobs.store import BlobStore
from headgate.storage.database import Database
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

log = get_logger("blobs")

BATCH = 1_000
MAX_BATCHES = 50
"""Of each step in one call, so that a call ends soon."""
FIRST_ID = UUID(int=0)


@dataclass(frozen=True)
class Collected:
    """What one call has done."""

    abandoned: int
    unreferenced: int
    deleted: int


@dataclass(frozen=True)
class _Marked:
    last: UUID | None
    seen: int


async def collect(
    database: Database, store: BlobStore, *, now: datetime, keep_unused: timedelta
) -> Collected:
    """Take one turn: give up dead uploads, doom unreferenced blobs, delete what is due."""
    abandoned = await _give_up_uploads(database, now=now)
    await _mark_unreferenced(database, now=now)
    unreferenced = await _doom_unreferenced(database, now=now, before=now - keep_unused)
    deleted = await _delete_due(database, store, now=now)
    if abandoned or unreferenced or deleted:
        log.info("collected files", abandoned=abandoned, unreferenced=unreferenced, deleted=deleted)
    return Collected(abandoned, unreferenced, deleted)


async def sweep_orphans(database: Database, store: BlobStore, *, now: datetime) -> int:
    """Doom objects that no row knows, for example after a restore of an older backup; return how many.

    Call `claim_store` before: in the store of another database everything is unknown.
    """
    found = 0
    async for names in store.list_names():
        for first in range(0, len(names), BATCH):
            async with database.autocommit() as tx:
                batch = names[first : first + BATCH]
                found += await doomed.doom_unknown(tx, batch, now=now, keep=intents.KEEP_DOOMED)
    if found:
        log.warning("found files that no row knows; they are deleted in a day", count=found)
    return found


async def _give_up_uploads(database: Database, *, now: datetime) -> int:
    total = 0
    for _ in range(MAX_BATCHES):
        async with database.autocommit() as tx:
            count = await intents.give_up_expired(tx, now=now, limit=BATCH)
        total += count
        if count < BATCH:
            break
    return total


async def _mark_unreferenced(database: Database, *, now: datetime) -> None:
    """Go on with the round over all blobs: note since when nothing refers to one, or that something does."""
    for _ in range(MAX_BATCHES):
        async with database.transaction() as tx:
            after = await tx.value(Q["get_place"]) or FIRST_ID
            marked = await tx.one(_Marked, Q["mark_unreferenced"], after=after, now=now, limit=BATCH)
            full = marked is not None and marked.seen == BATCH
            await tx.execute(Q["set_place"], place=marked.last if marked and full else None)
        if not full:
            break


async def _doom_unreferenced(database: Database, *, now: datetime, before: datetime) -> int:
    total = 0
    for _ in range(MAX_BATCHES):
        async with database.transaction() as tx:
            ids = await tx.column(Q["lock_unreferenced"], before=before, limit=BATCH)
            if not ids:
                break
            delete_at = now + intents.KEEP_DOOMED
            total += await tx.execute(Q["doom_unreferenced"], ids=ids, now=now, delete_at=delete_at)
        if len(ids) < BATCH:
            break
    return total


async def _delete_due(database: Database, store: BlobStore, *, now: datetime) -> int:
    total = 0
    for _ in range(MAX_BATCHES):
        count = await doomed.delete_due(database, store, now=now, limit=BATCH)
        total += count
        if count < BATCH:
            break
    return total
