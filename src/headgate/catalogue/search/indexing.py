"""Writes the index of search: what changed, then the rest of a rebuild, then words that may be forgotten.

A batch is read, and its words are split, before the transaction that writes it. What changes meanwhile has a
row of its own in the queue. A batch that another process has written is dropped, so an old one never replaces
a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from headgate.catalogue.search.sources import add_paths, list_shown
from headgate.domain.library.search.search_documents import SearchDocument, build_document
from headgate.kernel.clock import Clock
from headgate.storage.database import Database, Tx
from headgate.storage.search import documents, queue, words
from headgate.storage.search.documents import StoredDocument
from headgate.storage.search.queue import DueRow, Reindex

BATCH = 200
AT_ONCE = 20
"""Items whose texts, with the names of all files inside, are in memory together."""
SLICE_SIZE = 10_000
"""Documents of which all may match: they are sorted to find the newest."""
WORDS_AT_ONCE = 100


@dataclass(frozen=True)
class IndexBatch:
    """Documents as their sources say, and what they are taken from."""

    ids: tuple[UUID, ...]
    documents: Mapping[UUID, SearchDocument]
    caught_at: Mapping[UUID, datetime]
    due: tuple[DueRow, ...] = ()
    seen: UUID | None = None
    """Of a rebuild: where it was."""
    reindexed_to: UUID | None = None
    """Of a rebuild: where it goes on; None: it is done."""


@dataclass(frozen=True)
class ReindexProgress:
    """How far a rebuild of the index has come."""

    done: int
    total: int
    under_way: bool


@dataclass
class _Changes:
    """What differs between the index and its sources."""

    written: list[tuple[SearchDocument, int]] = field(default_factory=list)
    new: list[SearchDocument] = field(default_factory=list)
    deleted: list[UUID] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    lost_words: set[str] = field(default_factory=set)


async def read_batch(database: Database, *, clock: Clock, limit: int = BATCH) -> IndexBatch | None:
    """Return what to index next; None if nothing is due. Nothing is taken."""
    ids: list[UUID] = []
    async with database.autocommit() as tx:
        due = tuple(await queue.peek_due(tx, limit=limit))
        seen = None if due else (await queue.get_reindex(tx)).reindex_after
        if seen is not None:
            ids = await queue.list_next_ids(tx, after=seen, limit=limit)
    if due:
        ids = sorted({one for row in due for one in row.ids})
    elif seen is None:
        return None
    found: dict[UUID, SearchDocument] = {}
    caught_at: dict[UUID, datetime] = {}
    async with database.autocommit() as tx:
        listed = await list_shown(tx, ids)
    for start in range(0, len(listed), AT_ONCE):
        async with database.autocommit() as tx:
            whole = await add_paths(tx, listed[start : start + AT_ONCE])
        for texts in whole:
            found[texts.id] = build_document(texts)
            caught_at[texts.id] = texts.caught_at
            # A large archive takes some milliseconds; other work goes on in between.
            await clock.sleep(0)
    last = ids[-1] if seen is not None and len(ids) == limit else None
    return IndexBatch(tuple(ids), found, caught_at, due, seen, last)


async def write_batch(tx: Tx, batch: IndexBatch) -> bool:
    """Write a batch; False if another process has written it, so that nothing was changed."""
    await queue.lock_index(tx)
    if batch.due and await queue.take_due(tx, [row.id for row in batch.due]) < len(batch.due):
        return False
    if batch.seen is not None and not await queue.advance_reindex(
        tx, seen=batch.seen, after=batch.reindexed_to, added=len(batch.ids)
    ):
        return False
    changes = find_changes(batch, await documents.list_documents(tx, batch.ids))
    placed = await _place_new(tx, changes.new, batch.caught_at)
    await documents.write_documents(tx, [*changes.written, *placed])
    await documents.delete_documents(tx, changes.deleted)
    await words.mark_stale(tx, changes.lost_words)
    await words.add_words(tx, changes.words)
    return True


def find_changes(batch: IndexBatch, stored: Mapping[UUID, StoredDocument]) -> _Changes:
    """Return what is to be written."""
    changes = _Changes()
    for one in batch.ids:
        there, wanted = stored.get(one), batch.documents.get(one)
        if wanted is not None:
            changes.words |= wanted.names
            if there is None:
                changes.new.append(wanted)
            elif not there.is_of(wanted):
                changes.written.append((wanted, there.slice))
        elif there is not None:
            changes.deleted.append(one)
        if there is not None:
            changes.lost_words |= set(there.names) - (wanted.names if wanted else frozenset())
    return changes


async def _place_new(
    tx: Tx, new: Sequence[SearchDocument], caught_at: Mapping[UUID, datetime]
) -> list[tuple[SearchDocument, int]]:
    """Put new documents into the newest slice, and open others when it is full."""
    newest = await documents.get_newest_slice(tx)
    number, room = (newest.number, SLICE_SIZE - newest.documents) if newest else (-1, 0)
    waiting = sorted(new, key=lambda document: (caught_at[document.id], document.id))
    placed: list[tuple[SearchDocument, int]] = []
    while waiting:
        if room <= 0:
            number, room = number + 1, SLICE_SIZE
        taken, waiting = waiting[:room], waiting[room:]
        await documents.fill_slice(tx, number, since=caught_at[taken[0].id], added=len(taken))
        room -= len(taken)
        placed += [(document, number) for document in taken]
    return placed


async def settle_words(tx: Tx) -> int:
    """Forget some of the words that no document has any more; returns how many were looked at."""
    await queue.lock_index(tx)
    slices = await documents.list_slices(tx)
    return await words.settle_stale(tx, [one.number for one in slices], limit=WORDS_AT_ONCE)


async def start_reindex(database: Database, *, restart: bool = False) -> bool:
    """Begin to rebuild the whole index; False if a rebuild was under way, which goes on."""
    async with database.transaction() as tx:
        return await queue.start_reindex(tx, restart=restart)


async def index_next(database: Database, *, clock: Clock) -> bool:
    """Index one batch, for whoever does not wait for the job; False if nothing is left."""
    batch = await read_batch(database, clock=clock)
    async with database.transaction() as tx:
        if batch is None:
            return await settle_words(tx) > 0
        await write_batch(tx, batch)
    return True


async def get_progress(database: Database) -> ReindexProgress:
    async with database.transaction() as tx:
        reindex: Reindex = await queue.get_reindex(tx)
        total = await queue.count_sources(tx)
    return ReindexProgress(
        reindex.reindexed, max(total, reindex.reindexed), reindex.reindex_after is not None
    )
