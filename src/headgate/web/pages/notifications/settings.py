"""How a person is told: time zone and quiet hours, push addresses, and all that is followed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import UserError
from headgate.domain.reminders.windows import minute_text, parse_minute
from headgate.domain.text import typed_text
from headgate.domain.wall_time import list_zones
from headgate.outflow.notifications import follows
from headgate.outflow.notifications.inbox import change_settings
from headgate.storage.database import Tx
from headgate.storage.notifications.follows import FIRST, FollowCursor, Subject, list_follows
from headgate.storage.notifications.notification_settings import NotificationSettings, get_settings
from headgate.storage.notifications.push_addresses import list_addresses
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.notifications.following import MAX_LANGUAGES, read_switches
from headgate.web.parts import CurrentSite, Site

routes = Routes()

PAGE_LENGTH = 50
HOME = "/account/notifications"


@dataclass(frozen=True)
class Hours:
    """Quiet hours as they are typed."""

    zone: str = "UTC"
    quiet_from: str = ""
    quiet_to: str = ""

    @classmethod
    def of(cls, settings: NotificationSettings) -> Hours:
        begin, end = settings.quiet_from_min, settings.quiet_to_min
        return cls(
            settings.time_zone,
            "" if begin is None else minute_text(begin),
            "" if end is None else minute_text(end),
        )

    def read(self) -> NotificationSettings:
        return NotificationSettings(
            self.zone,
            parse_minute(self.quiet_from) if self.quiet_from else None,
            parse_minute(self.quiet_to) if self.quiet_to else None,
        )


@dataclass(frozen=True)
class Said:
    """What the page says about what was just done, and what was typed if it could not be done."""

    problems: dict[str, str] = field(default_factory=dict[str, str])
    """By part of the page."""
    done: dict[str, str] = field(default_factory=dict[str, str])
    hours: Hours | None = None
    typed: dict[str, str] = field(default_factory=dict[str, str])


@routes.get("/account/notifications", door=SIGNED_IN)
async def show_settings(site: CurrentSite, caller: CurrentCaller, after: str = "") -> Response:
    return await render_settings(site, caller, after=after)


@routes.post("/account/notifications/hours", door=SIGNED_IN)
async def change_hours(
    site: CurrentSite,
    caller: CurrentCaller,
    zone: Annotated[str, Form()] = "",
    quiet_from: Annotated[str, Form()] = "",
    quiet_to: Annotated[str, Form()] = "",
) -> Response:
    hours = Hours(typed_text(zone), typed_text(quiet_from), typed_text(quiet_to))
    try:
        async with site.transaction() as tx:
            now = site.parts.clock.now()
            await change_settings(tx, hours.read(), user_id=caller.user_id, now=now)
    except UserError as error:
        return await render_settings(site, caller, Said(problems={"hours": str(error)}, hours=hours))
    return await render_settings(site, caller, Said(done={"hours": "Saved."}))


@routes.post("/account/follows", door=SIGNED_IN)
async def follow_search(
    site: CurrentSite, caller: CurrentCaller, search: Annotated[str, Form()] = ""
) -> Response:
    """Follow everything that is called so, wherever it comes."""
    try:
        async with site.transaction() as tx:
            await follows.follow(
                tx,
                Subject(search=typed_text(search, max_length=follows.MAX_SEARCH + 1)),
                user_id=caller.user_id,
                ids=site.parts.ids,
                now=site.parts.clock.now(),
            )
    except UserError as error:
        said = Said(problems={"follows": str(error)}, typed={"search": search})
        return await render_settings(site, caller, said)
    return RedirectResponse(f"{HOME}#follows", status_code=303)


@routes.post("/account/follows/{follow_id}", door=SIGNED_IN)
async def change_follow(
    request: Request,
    site: CurrentSite,
    caller: CurrentCaller,
    follow_id: UUID,
    in_app: Annotated[bool, Form()] = False,
    push: Annotated[bool, Form()] = False,
    per: Annotated[str, Form()] = "chapter",
    languages: Annotated[str, Form(max_length=MAX_LANGUAGES)] = "",
    after: Annotated[str, Form()] = "",
) -> Response:
    switches = read_switches(in_app=in_app, push=push, per=per, languages=languages)

    async def change(tx: Tx) -> None:
        await follows.change(tx, follow_id, switches, user_id=caller.user_id)

    page = await _change_follow(site, caller, change, follow_id, after=after, done="Saved.")
    if "hx-request" in request.headers:
        # Of answers that refuse, htmx shows nothing; the reason is beside the switches.
        page.status_code = 200
    return page


@routes.post("/account/follows/{follow_id}/end", door=SIGNED_IN)
async def end_follow(
    site: CurrentSite, caller: CurrentCaller, follow_id: UUID, after: Annotated[str, Form()] = ""
) -> Response:
    async def end(tx: Tx) -> None:
        await follows.unfollow(tx, follow_id, user_id=caller.user_id)

    return await _change_follow(site, caller, end, follow_id, after=after)


async def _change_follow(
    site: Site,
    caller: Caller,
    act: Callable[[Tx], Awaitable[None]],
    follow_id: UUID,
    *,
    after: str,
    done: str = "",
) -> Response:
    """Do something to a follow, and say beside it what came of that."""
    name = f"follow-{follow_id}"
    try:
        async with site.transaction() as tx:
            await act(tx)
    except UserError as error:
        return await render_settings(site, caller, Said(problems={name: str(error)}), after=after)
    return await render_settings(site, caller, Said(done={name: done} if done else {}), after=after)


async def render_settings(
    site: Site, caller: Caller, said: Said | None = None, *, after: str = ""
) -> Response:
    said = said or Said()
    async with site.transaction() as tx:
        settings = await get_settings(tx, user_id=caller.user_id)
        addresses = await list_addresses(tx, user_id=caller.user_id)
        found = await list_follows(
            tx,
            user_id=caller.user_id,
            after=read_title_cursor(after, FollowCursor) or FIRST,
            limit=PAGE_LENGTH + 1,
        )
    shown, following = cut_page(found, PAGE_LENGTH, lambda one: title_cursor(one.title, one.id))
    page = site.renderer.render(
        "notification_settings.html",
        caller=caller,
        said=said,
        hours=said.hours or Hours.of(settings),
        fresh=settings == NotificationSettings(),
        zones=list_zones(),
        addresses=addresses,
        follows=shown,
        after=after,
        following=following,
    )
    page.status_code = 422 if said.problems else 200
    return page
