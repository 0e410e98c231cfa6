"""When a user does not want to be disturbed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class NotificationSettings:
    """A time zone, and quiet hours on its wall in minutes after midnight; none if both are empty."""

    time_zone: str = "UTC"
    quiet_from_min: int | None = None
    quiet_to_min: int | None = None


async def get_settings(tx: Tx, *, user_id: UUID) -> NotificationSettings:
    return await tx.one(NotificationSettings, Q["get_settings"], user_id=user_id) or NotificationSettings()


async def put_settings(tx: Tx, settings: NotificationSettings, *, user_id: UUID, now: datetime) -> None:
    """Keep the settings, and let what waits be judged by them."""
    await tx.execute(Q["put_settings"], user_id=user_id, **vars(settings))
    await tx.execute(Q["recheck"], user_id=user_id, now=now)
