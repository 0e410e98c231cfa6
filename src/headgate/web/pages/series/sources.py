"""The sources of a series: check one now, set how often, remove it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, Response

from headgate.domain.words.frequency import FrequencyChoice
from headgate.intake.listings.series import check_now, get_series, get_source, remove_source, set_frequency
from headgate.storage.database import Tx
from headgate.web.callers import CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.confirmations import Confirmation, ask
from headgate.web.pages.series.series import act_on_series
from headgate.web.parts import CurrentSite

routes = Routes()


@routes.post("/series/{series_id}/sources/{channel_id}/check", door=SIGNED_IN)
async def check_source(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID
) -> Response:
    async def want(tx: Tx) -> None:
        await get_source(tx, series_id, channel_id)
        await check_now(tx, [channel_id], now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, want)


@routes.post("/series/{series_id}/sources/{channel_id}/frequency", door=SIGNED_IN)
async def choose_frequency(
    site: CurrentSite,
    caller: CurrentCaller,
    series_id: UUID,
    channel_id: UUID,
    frequency: Annotated[FrequencyChoice, Form()],
) -> Response:
    """Set how often a source is checked, or let Headgate decide."""

    async def choose(tx: Tx) -> None:
        await get_source(tx, series_id, channel_id)
        await set_frequency(tx, channel_id, frequency, now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, choose)


@routes.get("/series/{series_id}/sources/{channel_id}/remove", door=SIGNED_IN)
async def ask_remove(site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID) -> Response:
    async with site.transaction() as tx:
        known = await get_series(tx, series_id, user_id=caller.user_id)
        source = await get_source(tx, series_id, channel_id)
    confirmation = Confirmation(
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
    return ask(site, caller, confirmation)


@routes.post("/series/{series_id}/sources/{channel_id}/remove", door=SIGNED_IN)
async def remove(site: CurrentSite, caller: CurrentCaller, series_id: UUID, channel_id: UUID) -> Response:
    async def change(tx: Tx) -> None:
        await remove_source(tx, series_id, channel_id, now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, change)
