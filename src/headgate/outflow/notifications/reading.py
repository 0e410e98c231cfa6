"""Reading progress: how far a user has read a series, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.notifications import reading


async def mark_read_up_to(tx: Tx, chapter_id: UUID, *, user_id: UUID, now: datetime) -> None:
    """Note that a chapter and all before it are read, with what told of them; never takes anything back."""
    await _check(tx, chapter_id)
    moved = await reading.read_up_to(tx, chapter_id, user_id=user_id, now=now)
    seen = await reading.read_notifications(tx, chapter_id, user_id=user_id, now=now)
    await _notify(tx, user_id, moved=moved, seen=seen)


async def mark_unread_from(tx: Tx, chapter_id: UUID, *, user_id: UUID, now: datetime) -> None:
    """Note that a chapter and all after it are not read (yet); what was told stays as it is."""
    await _check(tx, chapter_id)
    await reading.unread_from(tx, chapter_id, user_id=user_id, now=now)
    await _notify(tx, user_id, moved=True, seen=0)


async def count_unread(tx: Tx, series_ids: Sequence[UUID], *, user_id: UUID) -> dict[UUID, int]:
    """Return for each series how many chapters are left to read."""
    return await reading.count_unread_chapters(tx, series_ids, user_id=user_id)


async def _check(tx: Tx, chapter_id: UUID) -> None:
    if not await reading.chapter_exists(tx, chapter_id):
        raise NotFound("There is no such chapter.", remedy="It may have been removed.")


async def _notify(tx: Tx, user_id: UUID, *, moved: bool, seen: int) -> None:
    if moved:
        await publish(tx, Event("reading", audience=user_id))
    if seen:
        await publish(tx, Event("notifications", audience=user_id))
