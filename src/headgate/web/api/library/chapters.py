"""The newest chapters of the series that the caller follows."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from headgate.storage.listings.followed_chapters import ChapterCursor, FollowedChapter, list_newest
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class FollowedChapters(BaseModel):
    """Chapters, the newest first, and the cursor of the next page."""

    chapters: list[FollowedChapter]
    next: str | None


@routes.get("/library/chapters", door=scope("read"), tags=["library"])
async def list_followed(
    site: CurrentSite,
    caller: CurrentCaller,
    before: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> FollowedChapters:
    """List the chapters of followed series."""
    below = read_time_cursor(before, ChapterCursor)
    async with site.transaction() as tx:
        found = await list_newest(tx, caller.user_id, below=below, limit=limit + 1)
    chapters, following = cut_page(found, limit, lambda one: time_cursor(one.seen_at, one.id))
    return FollowedChapters(chapters=chapters, next=following)
