"""Channels: how far each was read, and when it is read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Response

from headgate.catalogue.downloads import show_downloads
from headgate.storage.channels.channel_overview import FIRST, ChannelCursor, list_channels
from headgate.storage.database import Tx
from headgate.storage.listings.listings import list_sources
from headgate.storage.notifications.follows import list_followed_channels, list_followed_series
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.series.source_views import view_listings
from headgate.web.parts import CurrentSite

routes = Routes()

PAGE_LENGTH = 200


@dataclass(frozen=True)
class FollowSwitch:
    """What the button of a channel follows, and whether the person does."""

    path: str
    followed: bool


@routes.get("/channels", door=SIGNED_IN)
async def show_channels(site: CurrentSite, caller: CurrentCaller, after: str = "") -> Response:
    place = read_title_cursor(after, ChannelCursor) or FIRST
    async with site.transaction() as tx:
        found = await list_channels(tx, after=place, limit=PAGE_LENGTH + 1)
        channels, following = cut_page(found, PAGE_LENGTH, lambda one: title_cursor(one.title, one.id))
        listings = await view_listings(site, tx, [one.id for one in channels if one.kind == "listing"])
        downloads = await show_downloads(tx)
        switches = await _follow_switches(tx, [one.id for one in channels], user_id=caller.user_id)
    return site.renderer.render(
        "channels.html",
        caller=caller,
        channels=channels,
        listings=listings,
        switches=switches,
        downloads=downloads,
        progress_of=site.hub.downloads.get,
        here=f"/channels?{urlencode({'after': after})}" if after else "/channels",
        following=following,
    )


async def _follow_switches(tx: Tx, channel_ids: Sequence[UUID], *, user_id: UUID) -> dict[UUID, FollowSwitch]:
    """Return the switch of each channel; the source of one series shows that series, as all pages do."""
    followed = await list_followed_channels(tx, channel_ids, user_id=user_id)
    switches = {one: FollowSwitch(f"/channels/{one}", one in followed) for one in channel_ids}
    sources = await list_sources(tx, [one for one in channel_ids if one not in followed])
    single = {
        channel_id: brings[0].series_id
        for channel_id, brings in sources.items()
        if len(brings) == 1 and not brings[0].pattern
    }
    series = await list_followed_series(tx, list(single.values()), user_id=user_id)
    return switches | {
        channel_id: FollowSwitch(f"/series/{series_id}", series_id in series)
        for channel_id, series_id in single.items()
    }
