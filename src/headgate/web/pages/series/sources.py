"""The sources of a series: check one now, pin how often it is checked, remove it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Form, Response

from headgate.intake.listings.series import check_now, get_series, get_source, pin_source, remove_source
from headgate.storage.database import Tx
from headgate.web.callers import CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.decisions import Confirmation, ask
from headgate.web.pages.series.series import act_on_series
from headgate.web.parts import CurrentSite

routes = Routes()

Pin = Literal["HOT", "WARM", "COLD", ""]


@routes.post("/series/{series_id}/sources/{channel_id}/look", door=SIGNED_IN)
async def look_now(site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID) -> Response:
    async def want(tx: Tx) -> None:
        await get_source(tx, series_id, channel_id)
        await check_now(tx, [channel_id], now=site.parts.clock.now())

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
        await get_source(tx, series_id, channel_id)
        await pin_source(tx, channel_id, tier or None, now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, pin)


@routes.get("/series/{series_id}/sources/{channel_id}/remove", door=SIGNED_IN)
async def ask_remove(site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID) -> Response:
    async with site.transaction() as tx:
        known = await get_series(tx, series_id, user_id=caller.user_id)
        source = await get_source(tx, series_id, channel_id)
    decision = Confirmation(
        about=known.title,
        part="series",
        back=f"/series/{series_id}",
        question=f"Remove “{source.title}” from this series?",
        texts=[
            "If no other series uses it, it is deleted with everything that it brought.",
            "Otherwise it stays among the channels, and its chapters stay here, struck through.",
        ],
        action=f"/series/{series_id}/sources/{channel_id}/remove",
        button="Remove source",
        is_grave=True,
    )
    return ask(site, caller, decision)


@routes.post("/series/{series_id}/sources/{channel_id}/remove", door=SIGNED_IN)
async def remove(site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID) -> Response:
    async def change(tx: Tx) -> None:
        await remove_source(tx, series_id, channel_id, now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, change)
