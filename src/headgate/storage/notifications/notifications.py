"""What users were told: their lists, what is unread, and what is old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Notification:
    """A notification of one user."""

    id: UUID
    series_id: UUID | None
    chapter_id: UUID | None
    channel_id: UUID | None
    item_id: UUID | None
    title: str
    body: str
    url: str
    at: datetime
    read_at: datetime | None


@dataclass(frozen=True)
class NotificationCursor:
    """A place in the order of a user's notifications."""

    at: datetime
    id: UUID


NEWEST = NotificationCursor(datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))


async def list_notifications(
    tx: Tx, *, user_id: UUID, below: NotificationCursor, unread_only: bool, limit: int
) -> list[Notification]:
    return await tx.all(
        Notification,
        Q["list_notifications"],
        user_id=user_id,
        unread_only=unread_only,
        limit=limit,
        **vars(below),
    )


async def get_notification(tx: Tx, notification_id: UUID, *, user_id: UUID) -> Notification | None:
    return await tx.one(Notification, Q["get_notification"], id=notification_id, user_id=user_id)


async def count_unread(tx: Tx, *, user_id: UUID, cap: int) -> int:
    return await tx.value(Q["count_unread"], user_id=user_id, cap=cap)


async def mark_read(tx: Tx, notification_id: UUID, *, user_id: UUID, now: datetime) -> bool:
    """Note one as read; false if it was before, or is not there."""
    return await tx.execute(Q["mark_read"], id=notification_id, user_id=user_id, now=now) == 1


async def mark_all_read(tx: Tx, *, user_id: UUID, until: datetime, now: datetime) -> int:
    """Note everything as read that came up to a time; returns how many."""
    return await tx.execute(Q["mark_all_read"], user_id=user_id, until=until, now=now)


async def prune(tx: Tx, *, before: datetime, limit: int) -> None:
    """Forget what was read, or pushed, before a time, and addresses of users who are gone."""
    await tx.execute(Q["delete_lost_secrets"])
    for query in (Q["empty_old"], Q["delete_old"], Q["delete_old_pushes"]):
        await tx.execute(query, before=before, limit=limit)
