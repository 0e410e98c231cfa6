"""Chapters of the series that the reader follows, beside the things of the library."""

from __future__ import annotations

from fastapi import Response

from headgate.storage.listings.followed_chapters import ChapterCursor, list_newest
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite

routes = Routes()

PAGE_LENGTH = 60


@routes.get("/library/chapters", door=SIGNED_IN)
async def show_chapters(site: CurrentSite, caller: CurrentCaller, before: str = "") -> Response:
    below = read_time_cursor(before, ChapterCursor)
    async with site.transaction() as tx:
        found = await list_newest(tx, caller.user_id, below=below, limit=PAGE_LENGTH + 1)
    chapters, following = cut_page(found, PAGE_LENGTH, lambda one: time_cursor(one.seen_at, one.id))
    return site.renderer.render(
        "library_chapters.html", caller=caller, chapters=chapters, before=before, following=following
    )
