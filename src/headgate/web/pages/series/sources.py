"""What people do to the sources of a series: look now, fix how often, take one away."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Form, Response

from headgate.intake.listings.requests import detach
from headgate.storage.database import Tx
from headgate.storage.listings import listings, series
from headgate.storage.listings.series import SeriesSource
from headgate.web.callers import CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.errors import not_found
from headgate.web.pages.decisions import Decision, ask
from headgate.web.pages.known import known_series
from headgate.web.pages.series.series import act_on_series
from headgate.web.parts import CurrentSite

routes = Routes()

Pin = Literal["HOT", "WARM", "COLD", ""]


@routes.post("/series/{series_id}/sources/{channel_id}/look", door=SIGNED_IN)
async def look_now(site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID) -> Response:
    async def want(tx: Tx) -> None:
        await _known_source(tx, series_id, channel_id)
        await listings.ask_listing(tx, channel_id, now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, want)


@routes.post("/series/{series_id}/sources/{channel_id}/tier", door=SIGNED_IN)
async def pin_tier(
    site: CurrentSite,
    caller: CurrentCaller,
    series_id: UUID,
    channel_id: UUID,
    tier: Annotated[Pin, Form()] = "",
) -> Response:
    """Fix how often a source is looked at, or let its rhythm decide again."""

    async def pin(tx: Tx) -> None:
        await _known_source(tx, series_id, channel_id)
        await listings.pin_tier(tx, channel_id, tier=tier or None, now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, pin)


@routes.get("/series/{series_id}/sources/{channel_id}/remove", door=SIGNED_IN)
async def ask_remove(site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID) -> Response:
    async with site.transaction() as tx:
        known = await known_series(tx, series_id, user_id=caller.user_id)
        source = await _known_source(tx, series_id, channel_id)
    decision = Decision(
        about=known.title,
        part="series",
        back=f"/series/{series_id}",
        question=f"Take “{source.title}” away from this series?",
        texts=[
            "If it is there for this series alone, it goes with everything that it brought.",
            "If not, it stays among the channels, and what it brought stays here, struck through.",
        ],
        action=f"/series/{series_id}/sources/{channel_id}/remove",
        button="Take it away",
        is_grave=True,
    )
    return ask(site, caller, decision)


@routes.post("/series/{series_id}/sources/{channel_id}/remove", door=SIGNED_IN)
async def remove(site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID) -> Response:
    async def take_away(tx: Tx) -> None:
        await _known_source(tx, series_id, channel_id)
        now = site.parts.clock.now()
        await detach(tx, series_id, channel_id, now=now)

    return await act_on_series(site, caller, series_id, take_away)


async def _known_source(tx: Tx, series_id: UUID, channel_id: UUID) -> SeriesSource:
    for source in await series.list_series_sources(tx, series_id):
        if source.channel_id == channel_id:
            return source
    raise not_found("This series has no such source.")
