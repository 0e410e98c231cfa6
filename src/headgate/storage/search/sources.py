"""What documents are made of; captions and labels come from `storage/labels`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

MAX_PATHS = 20_000
"""Files inside one archive whose names can be found."""


@dataclass(frozen=True)
class SourceItem:
    """An item that is shown."""

    id: UUID
    channel_id: UUID
    kind: str
    type: str
    title: str
    posted_at: datetime
    caught_at: datetime
    ungrouped: bool
    topics: list[str]
    """Each with its channel: the key of its facet."""


@dataclass(frozen=True)
class SourceGroup:
    """A group that is shown."""

    id: UUID
    name: str
    created_at: datetime
    facets: list[int]
    """Of its row on the shelf."""
    dated_facets: list[int]


class _Paths(NamedTuple):
    id: UUID
    paths: str


async def list_items(tx: Tx, ids: Sequence[UUID]) -> list[SourceItem]:
    return await tx.all(SourceItem, Q["list_items"], ids=list(ids))


async def list_groups(tx: Tx, ids: Sequence[UUID]) -> list[SourceGroup]:
    return await tx.all(SourceGroup, Q["list_groups"], ids=list(ids))


async def list_paths(tx: Tx, item_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Return the names of the files inside archives, a line for each."""
    found = await tx.all(_Paths, Q["list_paths"], item_ids=list(item_ids), max_paths=MAX_PATHS)
    return {one.id: one.paths for one in found}
