"""How far users have read, and what is left to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class _Unread:
    series_id: UUID
    unread: int


async def read_up_to(tx: Tx, chapter_id: UUID, *, user_id: UUID, now: datetime) -> bool:
    """Note that a chapter and all before it are read; false if that was known."""
    return await tx.execute(Q["read_up_to"], chapter_id=chapter_id, user_id=user_id, now=now) == 1


async def unread_from(tx: Tx, chapter_id: UUID, *, user_id: UUID, now: datetime) -> None:
    """Note that a chapter and all after it are not read."""
    await tx.execute(Q["unread_from"], chapter_id=chapter_id, user_id=user_id, now=now)


async def chapter_exists(tx: Tx, chapter_id: UUID) -> bool:
    return await tx.value(Q["chapter_exists"], chapter_id=chapter_id)


async def read_notifications(tx: Tx, chapter_id: UUID, *, user_id: UUID, now: datetime) -> int:
    """Note as read what told the user of chapters of this series that are read; returns how many."""
    return await tx.execute(Q["read_notifications"], chapter_id=chapter_id, user_id=user_id, now=now)


async def count_unread_chapters(tx: Tx, series_ids: Sequence[UUID], *, user_id: UUID) -> dict[UUID, int]:
    """Return how many chapters of each series are left to read."""
    if not series_ids:
        return {}
    rows = await tx.all(
        _Unread, Q["count_unread_chapters"], series_ids=list(dict.fromkeys(series_ids)), user_id=user_id
    )
    return {row.series_id: row.unread for row in rows}
