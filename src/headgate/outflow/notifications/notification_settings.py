"""When a user does not want to be disturbed: quiet hours in the user's own time zone."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.domain.wall_time import find_zone
from headgate.storage.database import Tx
from headgate.storage.notifications import notification_settings
from headgate.storage.notifications.notification_settings import NotificationSettings

DAY_MINUTES = 1440


async def get_settings(tx: Tx, *, user_id: UUID) -> NotificationSettings:
    return await notification_settings.get_settings(tx, user_id=user_id)


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
            remedy="Switch the push addresses off instead if nothing is to be sent at all.",
        )
    await notification_settings.put_settings(tx, settings, user_id=user_id, now=now)
