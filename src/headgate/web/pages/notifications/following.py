"""Following and unfollowing with one click, from wherever something is shown."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import NotFound
from headgate.domain.text import typed_text
from headgate.outflow.notifications import follows
from headgate.storage.notifications.follows import Subject, Switches
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site
from headgate.web.typed import local_path

routes = Routes()

Back = Annotated[str, Form()]
MAX_LANGUAGES = 2000


def read_switches(*, in_app: bool, push: bool, per: str, languages: str) -> Switches:
    """Return the switches of a form."""
    listed = typed_text(languages, max_length=MAX_LANGUAGES).replace(",", " ").split()
    return Switches(in_app, push, "source" if per == "source" else "chapter", tuple(listed))


@routes.post("/series/{series_id}/follow", door=SIGNED_IN)
async def follow_series(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, back: Back = ""
) -> Response:
    return await _follow(site, caller, Subject(series_id=series_id), back)


@routes.post("/series/{series_id}/unfollow", door=SIGNED_IN)
async def unfollow_series(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, back: Back = ""
) -> Response:
    return await _unfollow(site, caller, Subject(series_id=series_id), back)


@routes.post("/channels/{channel_id}/follow", door=SIGNED_IN)
async def follow_channel(
    site: CurrentSite, caller: CurrentCaller, channel_id: UUID, back: Back = ""
) -> Response:
    return await _follow(site, caller, Subject(channel_id=channel_id), back)


@routes.post("/channels/{channel_id}/unfollow", door=SIGNED_IN)
async def unfollow_channel(
    site: CurrentSite, caller: CurrentCaller, channel_id: UUID, back: Back = ""
) -> Response:
    return await _unfollow(site, caller, Subject(channel_id=channel_id), back)


async def _follow(site: Site, caller: Caller, subject: Subject, back: str) -> Response:
    async with site.transaction() as tx:
        now = site.parts.clock.now()
        await follows.follow(tx, subject, user_id=caller.user_id, ids=site.parts.ids, now=now)
    return RedirectResponse(local_path(back), status_code=303)


async def _unfollow(site: Site, caller: Caller, subject: Subject, back: str) -> Response:
    try:
        async with site.transaction() as tx:
            await follows.unfollow_subject(tx, subject, user_id=caller.user_id)
    except NotFound:
        # The page that the person comes from may be older than the end of the follow.
        if not back:
            raise
    return RedirectResponse(local_path(back), status_code=303)
