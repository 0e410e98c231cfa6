"""Inspections: wishes to look inside an item's stored files, and what was found there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


async def note_inspection(tx: Tx, item_ids: Iterable[UUID], now: datetime) -> None:
    """Wish that the files of items are looked into; call it whenever an item's stored files change."""
    if ids := sorted(set(item_ids)):
        await tx.execute(Q["note_inspections"], item_ids=ids, now=now)
