"""Chapters of a series with their releases, and how far the caller has read."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.intake.listings.series import get_chapter, get_series
from headgate.outflow.notifications import reading
from headgate.storage.database import Tx
from headgate.storage.listings import series
from headgate.storage.listings.series import Chapter, ChapterPlace, Release
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)

ChapterName = Annotated[
    str, Query(min_length=1, max_length=100, description="A chapter's id or number, or `latest`.")
]


class ReleaseAnswer(BaseModel):
    """A chapter as one source published it."""

    id: UUID
    channel_id: UUID
    channel_title: str
    platform: str
    title: str
    url: str
    language: str
    group: str
    external: bool = Field(description="The source only links to it.")
    published_at: datetime | None
    seen_at: datetime
    removed_at: datetime | None

    @classmethod
    def of(cls, release: Release) -> ReleaseAnswer:
        return cls.model_validate(vars(release) | {"group": release.scan_group})


class ChapterAnswer(BaseModel):
    """A numbered part of a series; the number can be empty."""

    id: UUID
    key: str
    number: str
    volume: str
    title: str
    published_at: datetime | None
    seen_at: datetime
    read: bool
    releases: list[ReleaseAnswer]

    @classmethod
    def of(cls, chapter: Chapter, releases: list[Release], *, read_place: str) -> ChapterAnswer:
        shown = {
            "read": bool(read_place) and chapter.place <= read_place,
            "releases": [ReleaseAnswer.of(release) for release in releases],
        }
        return cls.model_validate(vars(chapter) | shown)


class ChaptersAnswer(BaseModel):
    """A page of chapters, newest first; pass `next` as `before` to get the next page."""

    chapters: list[ChapterAnswer]
    next: str | None


class ProgressWish(BaseModel):
    chapter: str = Field(min_length=1, max_length=100, description="A chapter's id or number, or `latest`.")


class ProgressAnswer(BaseModel):
    """How far the caller has read a series."""

    series_id: UUID
    read_chapter: str
    unread: int


@routes.get("/series/{series_id}/chapters", door=scope("read"), tags=["series"])
async def list_all(
    site: CurrentSite,
    caller: CurrentCaller,
    series_id: UUID,
    before: str = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> ChaptersAnswer:
    """List chapters with their releases, newest first."""
    below = read_title_cursor(before, ChapterPlace)
    async with site.transaction() as tx:
        known = await get_series(tx, series_id, user_id=caller.user_id)
        found = await series.list_chapters(tx, series_id, below=below, limit=limit + 1)
        shown, following = cut_page(found, limit, lambda chapter: title_cursor(chapter.place, chapter.id))
        releases = await series.list_releases(tx, [chapter.id for chapter in shown])
    return ChaptersAnswer(
        chapters=[
            ChapterAnswer.of(chapter, releases[chapter.id], read_place=known.read_place) for chapter in shown
        ],
        next=following,
    )


@routes.get("/series/{series_id}/progress", door=scope("read"), tags=["series"])
async def get_progress(site: CurrentSite, caller: CurrentCaller, series_id: UUID) -> ProgressAnswer:
    """Show how far the caller has read."""
    async with site.transaction() as tx:
        return await _progress(tx, series_id, user_id=caller.user_id)


@routes.put("/series/{series_id}/progress", door=scope("write"), tags=["series"])
async def read_up_to(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, body: ProgressWish
) -> ProgressAnswer:
    """Mark a chapter and all before it as read; later chapters keep their state."""
    async with site.transaction() as tx:
        known = await get_series(tx, series_id, user_id=caller.user_id)
        chapter = await get_chapter(tx, known, body.chapter)
        await reading.mark_read_up_to(tx, chapter.id, user_id=caller.user_id, now=site.parts.clock.now())
        return await _progress(tx, series_id, user_id=caller.user_id)


@routes.delete("/series/{series_id}/progress", door=scope("write"), tags=["series"])
async def unread_from(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, chapter: ChapterName
) -> ProgressAnswer:
    """Mark a chapter and all after it as unread."""
    async with site.transaction() as tx:
        known = await get_series(tx, series_id, user_id=caller.user_id)
        named = await get_chapter(tx, known, chapter)
        await reading.mark_unread_from(tx, named.id, user_id=caller.user_id, now=site.parts.clock.now())
        return await _progress(tx, series_id, user_id=caller.user_id)


async def _progress(tx: Tx, series_id: UUID, *, user_id: UUID) -> ProgressAnswer:
    known = await get_series(tx, series_id, user_id=user_id)
    unread = await reading.count_unread(tx, [series_id], user_id=user_id)
    return ProgressAnswer(series_id=series_id, read_chapter=known.read_chapter, unread=unread[series_id])
