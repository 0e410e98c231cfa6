"""Documents of the index, and the slices that they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.domain.library.search.search_documents import SearchDocument, slice_prefix
from headgate.storage.arrays import columns
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Slice:
    """Documents that arrived after one another."""

    number: int
    since: datetime
    """When its first item was caught."""
    documents: int


@dataclass(frozen=True)
class StoredDocument:
    """A document as it is stored: every word begins with its slice."""

    id: UUID
    is_group: bool
    slice: int
    posted_at: datetime
    names: list[str]
    words: list[str]

    def is_of(self, document: SearchDocument) -> bool:
        """Tell whether nothing is left to write."""
        return (
            self.is_group == document.is_group
            and self.posted_at == document.posted_at
            and frozenset(self.names) == document.names
            and set(self.words) == placed_words(document, self.slice)
        )


class _Written(NamedTuple):
    id: UUID
    is_group: bool
    slice: int
    posted_at: datetime
    names: str
    words: str


def placed_words(document: SearchDocument, slice_number: int) -> set[str]:
    """Return the words as a slice holds them."""
    prefix = slice_prefix(slice_number)
    return {prefix + word for word in document.words}


async def list_documents(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, StoredDocument]:
    found = await tx.all(StoredDocument, Q["list_documents"], ids=list(ids))
    return {document.id: document for document in found}


async def write_documents(tx: Tx, documents: Iterable[tuple[SearchDocument, int]]) -> None:
    """Write documents, each with its slice."""
    rows = [
        _Written(
            document.id,
            document.is_group,
            number,
            document.posted_at,
            " ".join(sorted(document.names)),
            " ".join(sorted(placed_words(document, number))),
        )
        for document, number in sorted(documents, key=lambda placed: placed[0].id)
    ]
    if rows:
        await tx.execute(Q["write_documents"], **columns(_Written._fields, rows))


async def delete_documents(tx: Tx, ids: Sequence[UUID]) -> None:
    await tx.execute(Q["delete_documents"], ids=list(ids))


async def list_slices(tx: Tx) -> list[Slice]:
    return await tx.all(Slice, Q["list_slices"])


async def get_newest_slice(tx: Tx) -> Slice | None:
    return await tx.one(Slice, Q["get_newest_slice"])


async def fill_slice(tx: Tx, number: int, *, since: datetime, added: int) -> None:
    await tx.execute(Q["fill_slice"], number=number, since=since, added=added)
