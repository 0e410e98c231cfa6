"""Notifications: what a person was told, newest first, and the bell that every page has."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse
from pydantic import AwareDatetime

from headgate.domain.words.times import day
from headgate.outflow.notifications import inbox
from headgate.storage.notifications.notification_settings import get_settings
from headgate.storage.notifications.notifications import NEWEST, Notification, NotificationCursor
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite
from headgate.web.typed import local_path
from headgate.web.wording import outside

routes = Routes()


def address(*, unread: bool, before: str = "") -> str:
    """Return the address of a part of the list."""
    wanted = {"unread": "true" if unread else "", "before": before}
    query = urlencode({name: value for name, value in wanted.items() if value})
    return f"/notifications?{query}" if query else "/notifications"


@routes.get("/notifications", door=SIGNED_IN)
async def show_notifications(
    site: CurrentSite, caller: CurrentCaller, unread: bool = False, before: str = ""
) -> Response:
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        settings = await get_settings(tx, user_id=caller.user_id)
        found = await inbox.list_page(
            tx,
            user_id=caller.user_id,
            below=read_time_cursor(before, NotificationCursor) or NEWEST,
            unread_only=unread,
            limit=inbox.PAGE + 1,
        )
    lines, following = cut_page(found, inbox.PAGE, lambda one: time_cursor(one.at, one.id))
    days = [
        (name, list(told)) for name, told in groupby(lines, lambda one: day(one.at, settings.time_zone, now))
    ]
    return site.renderer.render(
        "notifications.html",
        caller=caller,
        days=days,
        unread=unread,
        before=before,
        zone=settings.time_zone,
        newest_at=lines[0].at if lines and not before else None,
        here=address(unread=unread, before=before),
        following=address(unread=unread, before=following) if following else "",
    )


@routes.get("/notifications/bell", door=SIGNED_IN)
async def show_bell(site: CurrentSite, caller: CurrentCaller) -> Response:
    """Return the bell alone; open pages ask for it when something is told or read."""
    return site.renderer.render("bell.html", caller=caller)


@routes.get("/notifications/{notification_id}", door=SIGNED_IN, head=False)
async def open_notification(site: CurrentSite, caller: CurrentCaller, notification_id: UUID) -> Response:
    """Go where a notification points, and note it as read."""
    async with site.transaction() as tx:
        told = await inbox.mark_read(tx, notification_id, user_id=caller.user_id, now=site.parts.clock.now())
    return RedirectResponse(outside(told.url) or _inside(told), status_code=303)


@routes.post("/notifications/{notification_id}/read", door=SIGNED_IN)
async def mark_read(
    site: CurrentSite, caller: CurrentCaller, notification_id: UUID, back: Annotated[str, Form()] = ""
) -> Response:
    async with site.transaction() as tx:
        await inbox.mark_read(tx, notification_id, user_id=caller.user_id, now=site.parts.clock.now())
    return RedirectResponse(local_path(back or "/notifications"), status_code=303)


@routes.post("/notifications/read", door=SIGNED_IN)
async def mark_all_read(
    site: CurrentSite, caller: CurrentCaller, until: Annotated[AwareDatetime, Form()]
) -> Response:
    """Note all as read that the person could see; what came since stays unread."""
    async with site.transaction() as tx:
        now = site.parts.clock.now()
        await inbox.mark_all_read(tx, user_id=caller.user_id, until=until, now=now)
    return RedirectResponse("/notifications", status_code=303)


def _inside(told: Notification) -> str:
    return f"/series/{told.series_id}" if told.series_id else "/"
