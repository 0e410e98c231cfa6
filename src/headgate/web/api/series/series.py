"""Series: works, and the listings that bring them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.domain.listings.opml import MAX_ADDRESS
from headgate.domain.text import MAX_TITLE_LENGTH, containing, typed_text
from headgate.intake.listings.series import get_series, remove_series, remove_source, rename_series
from headgate.intake.listings.sources import NewSource, SourceAdded
from headgate.kernel.logs import mask_url
from headgate.outflow.notifications import reading
from headgate.storage.database import Tx
from headgate.storage.listings import series
from headgate.storage.listings.listing_overview import get_listing_states
from headgate.storage.listings.series import Series, SeriesName
from headgate.web.api.series.listings import ListingAnswer
from headgate.web.api.series.source_wishes import FoundAnswer, SourceWish
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite, Site

routes = Routes("/api/v1", in_schema=True)


class SeriesAnswer(BaseModel):
    """A work, as the caller sees it."""

    id: UUID
    title: str
    latest_chapter: str
    latest_published_at: datetime | None
    numbers_reset: bool = Field(description="Chapter numbers start over with each volume.")
    created_at: datetime
    chapters: int
    sources: int
    followed: bool
    read_chapter: str
    unread: int

    @classmethod
    def of(cls, one: Series, unread: int) -> SeriesAnswer:
        return cls.model_validate(vars(one) | {"unread": unread})


class SeriesPage(BaseModel):
    """A page of series by title; pass `next` as `after` to get the next page."""

    series: list[SeriesAnswer]
    next: str | None


class SourceAnswer(BaseModel):
    """A source of a series: which of its entries belong to it, and its state."""

    pattern: str
    language: str
    listing: ListingAnswer


class FullSeriesAnswer(BaseModel):
    """A series with its sources."""

    series: SeriesAnswer
    sources: list[SourceAnswer]


class AddedAnswer(FullSeriesAnswer):
    """A series after a source was added."""

    channel_id: UUID
    is_new: bool = Field(description="The source was not followed before.")


class SeriesWish(SourceWish):
    """A source for a series; without a title the series is named after the source or the pattern."""

    title: str = Field(default="", max_length=MAX_TITLE_LENGTH)


class Renaming(BaseModel):
    title: str = Field(max_length=MAX_TITLE_LENGTH)


class FindingsAnswer(BaseModel):
    """Matches, the most likely first."""

    found: list[FoundAnswer]


@routes.get("/series", door=scope("read"), tags=["series"])
async def list_all(
    site: CurrentSite,
    caller: CurrentCaller,
    q: str = "",
    followed: bool = False,
    after: str = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> SeriesPage:
    """List series by title; `q` is part of the title, `followed` limits to what the caller follows."""
    place = read_title_cursor(after, lambda title, row_id: SeriesName(row_id, title))
    async with site.transaction() as tx:
        found = await series.list_series(
            tx,
            user_id=caller.user_id,
            after=place,
            pattern=containing(typed_text(q)),
            followed=followed,
            limit=limit + 1,
        )
        lines, following = cut_page(found, limit, lambda line: title_cursor(line.title, line.id))
        return SeriesPage(series=await _answers(tx, lines, caller.user_id), next=following)


@routes.post("/series", door=scope("write"), status_code=201, tags=["series"])
async def add(site: CurrentSite, caller: CurrentCaller, body: SeriesWish) -> AddedAnswer:
    """Add a series: by platform and key, by a query, or a feed with a title pattern."""
    found = await body.find(site)
    source = NewSource(
        found,
        series_title=body.title,
        pattern=body.pattern,
        language=body.language,
        needs_series=True,
    )
    return await _add(site, body.platform, source, user_id=caller.user_id)


@routes.get("/series/find", door=scope("write"), tags=["series"])
async def find(
    site: CurrentSite, platform: str, q: Annotated[str, Query(min_length=1, max_length=MAX_ADDRESS)]
) -> FindingsAnswer:
    """Search a platform for a title or an address; nothing is stored."""
    found = await site.sources.find(platform, q)
    return FindingsAnswer(
        found=[FoundAnswer(key=mask_url(one.key), title=one.title, is_series=one.is_series) for one in found]
    )


@routes.get("/series/{series_id}", door=scope("read"), tags=["series"])
async def get(site: CurrentSite, caller: CurrentCaller, series_id: UUID) -> FullSeriesAnswer:
    """Show a series with its sources: how often each is checked and why, and any problem."""
    async with site.transaction() as tx:
        return await _full(tx, series_id, user_id=caller.user_id, now=site.parts.clock.now())


@routes.patch("/series/{series_id}", door=scope("write"), tags=["series"])
async def rename(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, body: Renaming
) -> FullSeriesAnswer:
    """Rename a series; sources never change the new title."""
    async with site.transaction() as tx:
        await rename_series(tx, series_id, body.title)
        return await _full(tx, series_id, user_id=caller.user_id, now=site.parts.clock.now())


@routes.delete("/series/{series_id}", door=scope("write"), status_code=204, tags=["series"])
async def delete(site: CurrentSite, series_id: UUID) -> None:
    """Delete a series with its chapters, for all users, and sources that only it uses."""
    async with site.transaction() as tx:
        await remove_series(tx, series_id, now=site.parts.clock.now())


@routes.post("/series/{series_id}/sources", door=scope("write"), status_code=201, tags=["series"])
async def add_source(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, body: SourceWish
) -> AddedAnswer:
    """Add a source to a series; an existing source gets this pattern and language."""
    async with site.transaction() as tx:
        await get_series(tx, series_id, user_id=caller.user_id)
    found = await body.find(site)
    source = NewSource(found, series_id=series_id, pattern=body.pattern, language=body.language)
    return await _add(site, body.platform, source, user_id=caller.user_id)


@routes.delete(
    "/series/{series_id}/sources/{channel_id}", door=scope("write"), status_code=204, tags=["series"]
)
async def delete_source(site: CurrentSite, series_id: UUID, channel_id: UUID) -> None:
    """Remove a source from a series.

    A source that only this series uses is deleted with its releases; otherwise they stay, marked as removed.
    """
    async with site.transaction() as tx:
        await remove_source(tx, series_id, channel_id, now=site.parts.clock.now())


async def _add(site: Site, platform: str, source: NewSource, *, user_id: UUID) -> AddedAnswer:
    added = await site.sources.add(platform, source)
    async with site.transaction() as tx:
        full = await _full(tx, _series_of(added), user_id=user_id, now=site.parts.clock.now())
    return AddedAnswer(**vars(full), channel_id=added.channel_id, is_new=added.is_new)


def _series_of(added: SourceAdded) -> UUID:
    if added.series_id is None:
        raise RuntimeError("a source was added without its series")
    return added.series_id


async def _full(tx: Tx, series_id: UUID, *, user_id: UUID, now: datetime) -> FullSeriesAnswer:
    known = await get_series(tx, series_id, user_id=user_id)
    (shown,) = await _answers(tx, [known], user_id)
    sources = await series.list_series_sources(tx, series_id)
    states = await get_listing_states(tx, [source.channel_id for source in sources])
    listed = {state.channel_id: ListingAnswer.of(state, now=now) for state in states}
    return FullSeriesAnswer(
        series=shown,
        sources=[
            SourceAnswer(pattern=source.pattern, language=source.language, listing=listed[source.channel_id])
            for source in sources
        ],
    )


async def _answers(tx: Tx, found: Sequence[Series], user_id: UUID) -> list[SeriesAnswer]:
    unread = await reading.count_unread(tx, [one.id for one in found], user_id=user_id)
    return [SeriesAnswer.of(one, unread[one.id]) for one in found]
