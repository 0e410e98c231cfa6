"""A user's list of notifications in the app, and the hours in which nothing is pushed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.reminders.windows import DAY_MINUTES
from headgate.domain.wall_time import find_zone
from headgate.jobs.cron import recurring
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import Clock
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.notifications import notifications
from headgate.storage.notifications.notification_settings import NotificationSettings, put_settings
from headgate.storage.notifications.notifications import NEWEST, Notification, NotificationCursor

PAGE = 50
MAX_SHOWN = 99
PRUNED_AT_ONCE = 10_000


@dataclass(frozen=True)
class Unread:
    """How many notifications are unread; counting stops one above what is shown."""

    count: int

    @property
    def text(self) -> str:
        return f"{MAX_SHOWN}+" if self.count > MAX_SHOWN else str(self.count)


async def list_page(
    tx: Tx, *, user_id: UUID, below: NotificationCursor = NEWEST, unread_only: bool = False, limit: int = PAGE
) -> list[Notification]:
    """Return the newest notifications below a place."""
    return await notifications.list_notifications(
        tx, user_id=user_id, below=below, unread_only=unread_only, limit=limit
    )


async def count_unread(tx: Tx, *, user_id: UUID) -> Unread:
    return Unread(await notifications.count_unread(tx, user_id=user_id, cap=MAX_SHOWN + 1))


async def mark_read(tx: Tx, notification_id: UUID, *, user_id: UUID, now: datetime) -> Notification:
    """Mark a notification as read, and return it."""
    known = await notifications.get_notification(tx, notification_id, user_id=user_id)
    if known is None:
        raise NotFound("There is no such notification.", remedy="It may be too old.")
    if await notifications.mark_read(tx, notification_id, user_id=user_id, now=now):
        await publish(tx, Event("notifications", audience=user_id))
    return known


async def mark_all_read(tx: Tx, *, user_id: UUID, until: datetime | None = None, now: datetime) -> int:
    """Mark everything as read, or only up to a time: that of the newest one that the user has seen."""
    marked = await notifications.mark_all_read(tx, user_id=user_id, until=until or now, now=now)
    if marked:
        await publish(tx, Event("notifications", audience=user_id))
    return marked


async def change_settings(tx: Tx, settings: NotificationSettings, *, user_id: UUID, now: datetime) -> None:
    """Keep quiet hours; what was put off is judged by them anew."""
    find_zone(settings.time_zone)
    quiet = (settings.quiet_from_min, settings.quiet_to_min)
    if (quiet[0] is None) != (quiet[1] is None):
        raise UserError(
            "Quiet hours need a start and an end.", remedy="Give both, or neither for no quiet hours."
        )
    if any(minute is not None and not 0 <= minute < DAY_MINUTES for minute in quiet):
        raise UserError(
            "Quiet hours begin and end between 00:00 and 23:59.", remedy="Write them like 22:00 and 07:00."
        )
    if quiet[0] is not None and quiet[0] == quiet[1]:
        raise UserError(
            "Quiet hours cannot begin and end at the same time.",
            remedy="To push nothing at all, switch the addresses off.",
        )
    await put_settings(tx, settings, user_id=user_id, now=now)
    await publish(tx, Event("notification_settings", audience=user_id))


def pruning_kind(clock: Clock, *, keep_days: int) -> Kind[str]:
    """Return the recurring job that forgets what was read long ago."""

    async def prune(tx: Tx, now: datetime) -> None:
        await notifications.prune(tx, before=now - timedelta(days=keep_days), limit=PRUNED_AT_ONCE)

    return recurring("notification_retention", "23 * * * *", prune, clock)
