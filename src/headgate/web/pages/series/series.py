"""Series: the shelf, and one with its chapters, how far they are read, and how it is followed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import NotFound, UserError
from headgate.domain.text import MAX_TITLE_LENGTH, containing, typed_text
from headgate.intake.listings.series import get_series, remove_series, rename_series
from headgate.outflow.notifications import follows, reading
from headgate.storage.database import Tx
from headgate.storage.listings import series
from headgate.storage.listings.series import Chapter, SeriesName
from headgate.storage.notifications.follows import Subject, list_followed_channels
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.errors import not_found
from headgate.web.pages.confirmations import Confirmation, ask
from headgate.web.pages.notifications.following import read_switches
from headgate.web.pages.series.source_views import view_sources
from headgate.web.parts import CurrentSite, Site

routes = Routes()

PAGE_LENGTH = 50
CHAPTERS = 50


@dataclass(frozen=True)
class SeriesQuery:
    """What a person looks at: words to search for, only what is followed, and which part of the list."""

    search: str = ""
    followed: bool = False
    after: str = ""

    def address(self, *, after: str = "", followed: bool | None = None) -> str:
        """Return the address of the same search at another place, or its beginning."""
        only = self.followed if followed is None else followed
        wanted = {"q": self.search, "followed": "true" if only else "", "after": after}
        query = urlencode({name: value for name, value in wanted.items() if value})
        return f"/series?{query}" if query else "/series"


@routes.get("/series", door=SIGNED_IN)
async def show_series_list(
    site: CurrentSite, caller: CurrentCaller, q: str = "", followed: bool = False, after: str = ""
) -> Response:
    query = SeriesQuery(typed_text(q), followed, after)
    async with site.transaction() as tx:
        found = await series.list_series(
            tx,
            user_id=caller.user_id,
            after=read_title_cursor(after, lambda title, row_id: SeriesName(row_id, title)),
            pattern=containing(query.search),
            followed=followed,
            limit=PAGE_LENGTH + 1,
        )
        lines, following = cut_page(found, PAGE_LENGTH, lambda line: title_cursor(line.title, line.id))
        unread = await reading.count_unread(tx, [line.id for line in lines], user_id=caller.user_id)
    return site.renderer.render(
        "series_list.html",
        caller=caller,
        query=query,
        lines=lines,
        unread=unread,
        here=query.address(after=after),
        following=query.address(after=following) if following else "",
    )


@routes.get("/series/{series_id}", door=SIGNED_IN)
async def show_series(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, below: UUID | None = None
) -> Response:
    return await render_series(site, caller, series_id, below=below)


@routes.post("/series/{series_id}/switches", door=SIGNED_IN)
async def change_switches(
    site: CurrentSite,
    caller: CurrentCaller,
    series_id: UUID,
    in_app: Annotated[bool, Form()] = False,
    push: Annotated[bool, Form()] = False,
    per: Annotated[str, Form()] = "chapter",
    languages: Annotated[str, Form()] = "",
) -> Response:
    """Follow so from now on; who follows already keeps since when."""
    switches = read_switches(in_app=in_app, push=push, per=per, languages=languages)

    async def change(tx: Tx) -> None:
        subject, now = Subject(series_id=series_id), site.parts.clock.now()
        await follows.follow(tx, subject, switches, user_id=caller.user_id, ids=site.parts.ids, now=now)

    return await act_on_series(site, caller, series_id, change)


@routes.post("/series/{series_id}/read", door=SIGNED_IN)
async def read_up_to(
    site: CurrentSite,
    caller: CurrentCaller,
    series_id: UUID,
    chapter: Annotated[UUID, Form()],
    below: Annotated[str, Form()] = "",
) -> Response:
    async def mark(tx: Tx) -> None:
        await _known_chapter(tx, series_id, chapter)
        await reading.mark_read_up_to(tx, chapter, user_id=caller.user_id, now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, mark, below=below)


@routes.post("/series/{series_id}/unread", door=SIGNED_IN)
async def unread_from(
    site: CurrentSite,
    caller: CurrentCaller,
    series_id: UUID,
    chapter: Annotated[UUID, Form()],
    below: Annotated[str, Form()] = "",
) -> Response:
    async def mark(tx: Tx) -> None:
        await _known_chapter(tx, series_id, chapter)
        await reading.mark_unread_from(tx, chapter, user_id=caller.user_id, now=site.parts.clock.now())

    return await act_on_series(site, caller, series_id, mark, below=below)


@routes.post("/series/{series_id}/rename", door=SIGNED_IN)
async def rename(
    site: CurrentSite, caller: CurrentCaller, series_id: UUID, title: Annotated[str, Form()] = ""
) -> Response:
    async def change(tx: Tx) -> None:
        await rename_series(tx, series_id, title)

    return await act_on_series(site, caller, series_id, change)


@routes.get("/series/{series_id}/remove", door=SIGNED_IN)
async def ask_remove(site: CurrentSite, caller: CurrentCaller, series_id: UUID) -> Response:
    async with site.transaction() as tx:
        known = await get_series(tx, series_id, user_id=caller.user_id)
    confirmation = Confirmation(
        about=known.title,
        part="series",
        back=f"/series/{series_id}",
        question="Remove this series?",
        texts=[
            "This deletes its chapters, everyone’s reading progress and notifications.",
            "Sources that no other series uses are deleted too; the others stay among the channels.",
        ],
        action=f"/series/{series_id}/remove",
        button="Remove series",
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/series/{series_id}/remove", door=SIGNED_IN)
async def remove(site: CurrentSite, series_id: UUID) -> Response:
    async with site.transaction() as tx:
        await remove_series(tx, series_id, now=site.parts.clock.now())
    return RedirectResponse("/series", status_code=303)


async def act_on_series(
    site: Site, caller: Caller, series_id: UUID, act: Callable[[Tx], Awaitable[None]], *, below: str = ""
) -> Response:
    """Do something to a series and show it again; if it cannot be done, with the reason."""
    try:
        async with site.transaction() as tx:
            await get_series(tx, series_id)
            await act(tx)
    except NotFound:
        raise
    except UserError as error:
        return await render_series(site, caller, series_id, problem=str(error))
    query = f"?{urlencode({'below': below})}" if below else ""
    return RedirectResponse(f"/series/{series_id}{query}", status_code=303)


async def render_series(
    site: Site, caller: Caller, series_id: UUID, *, below: UUID | None = None, problem: str = ""
) -> Response:
    async with site.transaction() as tx:
        known = await get_series(tx, series_id, user_id=caller.user_id)
        place = await _known_chapter(tx, series_id, below) if below else None
        chapters = await series.list_chapters(tx, series_id, below=place, limit=CHAPTERS + 1)
        shown = chapters[:CHAPTERS]
        releases = await series.list_releases(tx, [chapter.id for chapter in shown])
        unread = await reading.count_unread(tx, [series_id], user_id=caller.user_id)
        follow = await follows.find(tx, Subject(series_id=series_id), user_id=caller.user_id)
        sources = await view_sources(site, tx, await series.list_series_sources(tx, series_id))
        channel_ids = [view.source.channel_id for view in sources]
        followed_sources = await list_followed_channels(tx, channel_ids, user_id=caller.user_id)
    page = site.renderer.render(
        "series.html",
        caller=caller,
        series=known,
        chapters=shown,
        releases=releases,
        unread=unread[series_id],
        follow=follow,
        sources=sources,
        followed_sources=followed_sources,
        below=below,
        following=shown[-1].id if len(chapters) > CHAPTERS else None,
        problem=problem,
        max_title_length=MAX_TITLE_LENGTH,
    )
    page.status_code = 422 if problem else 200
    return page


async def _known_chapter(tx: Tx, series_id: UUID, chapter_id: UUID) -> Chapter:
    for chapter in await series.find_chapter(tx, series_id, str(chapter_id), key=""):
        if chapter.id == chapter_id:
            return chapter
    raise not_found("There is no such chapter in this series.")
