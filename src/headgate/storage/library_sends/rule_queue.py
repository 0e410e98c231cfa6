"""Items that changed while a rule for sending is on; written with the rows of the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class QueuedItems:
    """Items that changed in one transaction."""

    id: int
    item_ids: list[UUID]


async def list_queued(tx: Tx, *, limit: int) -> list[QueuedItems]:
    return await tx.all(QueuedItems, Q["list_queued"], limit=limit)


async def delete_queued(tx: Tx, queued: Sequence[QueuedItems]) -> None:
    await tx.execute(Q["delete_queued"], ids=[one.id for one in queued])
