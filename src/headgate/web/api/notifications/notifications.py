"""What the caller was told, and when they do not want to be disturbed."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import AwareDatetime, BaseModel, Field

from headgate.domain.reminders.windows import minute_text, parse_minute
from headgate.outflow.notifications import inbox
from headgate.outflow.notifications.inbox import Unread, change_settings
from headgate.storage.notifications.notification_settings import NotificationSettings, get_settings
from headgate.storage.notifications.notifications import NEWEST, Notification, NotificationCursor
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class UnreadAnswer(BaseModel):
    """How many are unread; counting stops one above what is shown."""

    count: int
    text: str

    @classmethod
    def of(cls, unread: Unread) -> UnreadAnswer:
        return cls(count=unread.count, text=unread.text)


class NotificationsAnswer(BaseModel):
    """A page of notifications, newest first; pass `next` as `before` to get the next page."""

    notifications: list[Notification]
    next: str | None
    unread: UnreadAnswer


class ReadWish(BaseModel):
    """Up to when; by default until now."""

    until: AwareDatetime | None = None


class MarkedAnswer(BaseModel):
    marked: int


class QuietHours(BaseModel):
    """Quiet hours in a time zone; pushes wait until they end."""

    time_zone: str = Field(default="UTC", max_length=100)
    quiet_from: str | None = Field(default=None, max_length=20, description="Like 22:00.")
    quiet_to: str | None = Field(default=None, max_length=20, description="Like 07:00.")

    @classmethod
    def of(cls, settings: NotificationSettings) -> QuietHours:
        return cls(
            time_zone=settings.time_zone,
            quiet_from=_text(settings.quiet_from_min),
            quiet_to=_text(settings.quiet_to_min),
        )

    @property
    def settings(self) -> NotificationSettings:
        return NotificationSettings(self.time_zone, _minute(self.quiet_from), _minute(self.quiet_to))


@routes.get("/notifications", door=scope("read"), tags=["notifications"])
async def list_page(
    site: CurrentSite,
    caller: CurrentCaller,
    unread: bool = False,
    before: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> NotificationsAnswer:
    """List the caller's notifications, newest first; `unread` limits to unread ones."""
    below = read_time_cursor(before, NotificationCursor) or NEWEST
    async with site.transaction() as tx:
        found = await inbox.list_page(
            tx, user_id=caller.user_id, below=below, unread_only=unread, limit=limit + 1
        )
        count = await inbox.count_unread(tx, user_id=caller.user_id)
    shown, following = cut_page(found, limit, lambda one: time_cursor(one.at, one.id))
    return NotificationsAnswer(notifications=shown, next=following, unread=UnreadAnswer.of(count))


@routes.get("/notifications/unread", door=scope("read"), tags=["notifications"])
async def count_unread(site: CurrentSite, caller: CurrentCaller) -> UnreadAnswer:
    """Count the caller's unread notifications."""
    async with site.transaction() as tx:
        return UnreadAnswer.of(await inbox.count_unread(tx, user_id=caller.user_id))


@routes.post("/notifications/read", door=scope("write"), tags=["notifications"])
async def mark_all_read(
    site: CurrentSite, caller: CurrentCaller, body: ReadWish | None = None
) -> MarkedAnswer:
    """Mark all notifications up to a time as read, that of the newest one the caller has seen."""
    until = body.until if body else None
    async with site.transaction() as tx:
        marked = await inbox.mark_all_read(
            tx, user_id=caller.user_id, until=until, now=site.parts.clock.now()
        )
    return MarkedAnswer(marked=marked)


@routes.post(
    "/notifications/{notification_id}/read", door=scope("write"), status_code=204, tags=["notifications"]
)
async def mark_read(site: CurrentSite, caller: CurrentCaller, notification_id: UUID) -> None:
    """Mark one notification as read."""
    async with site.transaction() as tx:
        await inbox.mark_read(tx, notification_id, user_id=caller.user_id, now=site.parts.clock.now())


@routes.get("/notification-settings", door=scope("read"), tags=["notifications"])
async def get_quiet_hours(site: CurrentSite, caller: CurrentCaller) -> QuietHours:
    """Show the caller's time zone and quiet hours."""
    async with site.transaction() as tx:
        return QuietHours.of(await get_settings(tx, user_id=caller.user_id))


@routes.put("/notification-settings", door=scope("write"), tags=["notifications"])
async def set_quiet_hours(site: CurrentSite, caller: CurrentCaller, body: QuietHours) -> QuietHours:
    """Set the caller's time zone and quiet hours; waiting pushes follow the new hours."""
    async with site.transaction() as tx:
        await change_settings(tx, body.settings, user_id=caller.user_id, now=site.parts.clock.now())
        return QuietHours.of(await get_settings(tx, user_id=caller.user_id))


def _minute(text: str | None) -> int | None:
    return parse_minute(text) if text else None


def _text(minute: int | None) -> str | None:
    return None if minute is None else minute_text(minute)
