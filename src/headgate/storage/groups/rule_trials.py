"""Items that a rule could group, for trying it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class FreeItem:
    """A visible item in no group."""

    id: UUID
    title: str
    caught_at: datetime
    channel_title: str


async def list_newest_free(tx: Tx, *, below: FreeItem | None, limit: int) -> list[FreeItem]:
    """Return the newest items that rules may group, after one of them."""
    place = {"id": below.id, "caught_at": below.caught_at} if below else {"id": None, "caught_at": None}
    return await tx.all(FreeItem, Q["list_newest_free"], limit=limit, **place)
