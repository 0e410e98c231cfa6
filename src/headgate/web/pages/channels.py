"""Channels: how far each was read, and when it is read again."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Response

from headgate.storage.channels.channel_overview import FIRST, ChannelPlace, list_channels
from headgate.storage.notifications.follows import list_followed_channels
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import read_channel_place, write_channel_place
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.series.source_views import view_listings
from headgate.web.parts import CurrentSite

routes = Routes()

PAGE_LENGTH = 200


@routes.get("/channels", door=SIGNED_IN)
async def show_channels(site: CurrentSite, caller: CurrentCaller, after: str = "") -> Response:
    place = read_channel_place(after) if after else FIRST
    async with site.transaction() as tx:
        found = await list_channels(tx, after=place, limit=PAGE_LENGTH + 1)
        channels = found[:PAGE_LENGTH]
        listings = await view_listings(site, tx, [one.id for one in channels if one.kind == "listing"])
        followed = await list_followed_channels(tx, [one.id for one in channels], user_id=caller.user_id)
    following = (
        write_channel_place(ChannelPlace(channels[-1].title, channels[-1].id))
        if len(found) > PAGE_LENGTH
        else ""
    )
    return site.renderer.render(
        "channels.html",
        caller=caller,
        channels=channels,
        listings=listings,
        followed=followed,
        here=f"/channels?{urlencode({'after': after})}" if after else "/channels",
        following=following,
    )
