"""What is inside an item's archive, by folder and by search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class ContentRow:
    """A folder with all that is below it, or a file."""

    path: str
    name: str
    is_folder: bool
    number: int | None
    """The name by which a file is extracted; folders have none."""
    files: int
    """How many files are below a folder."""
    size_bytes: int | None
    modified_at: datetime | None
    is_encrypted: bool
    is_link: bool


async def list_folder(tx: Tx, item_id: UUID, *, under: str, skip: int, limit: int) -> list[ContentRow]:
    """Return what is directly in a folder (with its slash at the end; empty for the top)."""
    return await tx.all(ContentRow, Q["list_folder"], item_id=item_id, under=under, skip=skip, limit=limit)


async def search_entries(
    tx: Tx, item_id: UUID, *, pattern: str, under: str, skip: int, limit: int
) -> list[ContentRow]:
    """Return files by a part of their path; a pattern is one of ILIKE."""
    return await tx.all(
        ContentRow,
        Q["search_entries"],
        item_id=item_id,
        pattern=pattern,
        under=under,
        skip=skip,
        limit=limit,
    )


async def get_entry(tx: Tx, item_id: UUID, number: int) -> ContentRow | None:
    return await tx.one(ContentRow, Q["get_entry"], item_id=item_id, number=number)
