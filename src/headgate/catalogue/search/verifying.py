"""Compares the index of search with its sources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from headgate.catalogue.search.sources import add_paths, list_shown
from headgate.domain.library.search.search_documents import build_document
from headgate.storage.database import Database, Tx
from headgate.storage.search import documents, queue, words

BATCH = 50
_NIL = UUID(int=0)


@dataclass(frozen=True)
class SearchDifference:
    """A document that is not as it should be."""

    id: UUID
    problem: Literal["missing", "left over", "different", "words unknown"]


async def list_differences(database: Database) -> AsyncIterator[SearchDifference]:
    """Yield what differs; what waits to be indexed is passed over."""
    after: UUID | None = _NIL
    while after is not None:
        async with database.transaction() as tx:
            ids = await queue.list_next_ids(tx, after=after, limit=BATCH)
            found = await compare_documents(tx, ids)
        for difference in found:
            yield difference
        after = ids[-1] if ids else None


async def compare_documents(tx: Tx, ids: list[UUID]) -> list[SearchDifference]:
    """Return which of the documents differ from their sources."""
    stored = await documents.list_documents(tx, ids)
    shown = await add_paths(tx, await list_shown(tx, ids))
    wanted = {texts.id: build_document(texts) for texts in shown}
    missing = set(await words.list_missing(tx, {word for one in wanted.values() for word in one.names}))
    due = set(await queue.list_waiting(tx, ids))
    found: list[SearchDifference] = []
    for one in ids:
        there, should = stored.get(one), wanted.get(one)
        if one in due or (there is None and should is None):
            continue
        if should is None:
            found.append(SearchDifference(one, "left over"))
        elif there is None:
            found.append(SearchDifference(one, "missing"))
        elif not there.is_of(should):
            found.append(SearchDifference(one, "different"))
        elif should.names & missing:
            found.append(SearchDifference(one, "words unknown"))
    return found
