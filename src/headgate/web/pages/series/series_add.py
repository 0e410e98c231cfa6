"""Adding a series or a feed: look for it on a platform, pick what was meant, say what it brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import RateLimited, UserError, WorkError
from headgate.domain.listings.title_patterns import MAX_PATTERN
from headgate.domain.text import MAX_LANGUAGE_LENGTH, MAX_TITLE_LENGTH, is_key, typed_text
from headgate.intake.listings.sources import NewSource, SourceAdded
from headgate.kernel.logs import mask_url
from headgate.outflow.notifications import follows
from headgate.storage.listings.series import get_series, list_titles
from headgate.storage.notifications.follows import Subject
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site

routes = Routes()

FEEDS = "feeds"
MAX_QUERY_LENGTH = 2000
MAX_MATCHES = 20
MAX_SUGGESTED = 500


@dataclass(frozen=True)
class SeriesInput:
    """What a person has typed so far; nothing of it is lost."""

    platform: str = ""
    query: str = ""
    series_id: UUID | None = None
    """A series that is to get one more source."""
    brings: str = ""
    """What a feed's entries are: `posts`, or `chapters` of a series."""
    series: str = ""
    pattern: str = ""
    language: str = ""
    follow: bool = True


@routes.get("/series/add", door=SIGNED_IN)
async def show_form(
    site: CurrentSite,
    caller: CurrentCaller,
    platform: str = "",
    q: str = "",
    series: UUID | None = None,
) -> Response:
    """Show the form, and what was found if a platform was asked."""
    query = typed_text(q, max_length=MAX_QUERY_LENGTH)
    typed = SeriesInput(typed_text(platform), query, series, brings="chapters" if series else "posts")
    if not typed.platform or not query:
        return await _page(site, caller, typed)
    try:
        found = await site.sources.find(typed.platform, query)
        return await _page(site, caller, typed, found=found[:MAX_MATCHES])
    except (UserError, WorkError) as error:
        return await _page(site, caller, typed, problem=_why(error))


@routes.post("/series/add", door=SIGNED_IN)
async def add(
    site: CurrentSite,
    caller: CurrentCaller,
    platform: Annotated[str, Form()] = "",
    q: Annotated[str, Form()] = "",
    pick: Annotated[str, Form()] = "",
    title: Annotated[list[str] | None, Form()] = None,
    key: Annotated[list[str] | None, Form()] = None,
    kind: Annotated[list[str] | None, Form()] = None,
    series_id: Annotated[UUID | None, Form()] = None,
    brings: Annotated[str, Form()] = "",
    series: Annotated[str, Form()] = "",
    pattern: Annotated[str, Form()] = "",
    language: Annotated[str, Form()] = "",
    follow: Annotated[bool, Form()] = False,
) -> Response:
    """Follow what was picked, and go to the series that it brings."""
    typed = SeriesInput(
        typed_text(platform),
        typed_text(q, max_length=MAX_QUERY_LENGTH),
        series_id,
        brings,
        typed_text(series, max_length=MAX_TITLE_LENGTH + 1),
        typed_text(pattern, max_length=MAX_PATTERN + 1),
        typed_text(language),
        follow,
    )
    found = _read_found(title or [], key or [], kind or [])
    try:
        added = await site.sources.add(typed.platform, _new_source(typed, _picked(found, pick)))
        if typed.follow:
            await _follow(site, caller, added)
    except (UserError, WorkError) as error:
        return await _page(site, caller, typed, found=found, pick=pick, problem=_why(error))
    return RedirectResponse(f"/series/{added.series_id}" if added.series_id else "/channels", status_code=303)


def platforms_of(site: Site) -> dict[str, str]:
    """Return the platforms on which something can be found, with their titles; feeds come last."""
    connectors = site.parts.links.connectors
    found = {
        name: connector.manifest.title
        for name, connector in sorted(connectors.items(), key=lambda one: (one[0] == FEEDS, one[0]))
        if {"listings", "find"} <= connector.manifest.capabilities
    }
    return {
        name: "Feed or page (RSS, Atom, JSON)" if name == FEEDS else title for name, title in found.items()
    }


def _read_found(titles: list[str], keys: list[str], kinds: list[str]) -> list[FoundChannel]:
    """Return what was found when the form was shown."""
    rows = zip(titles, keys, kinds, strict=False)
    return [
        FoundChannel(
            key, typed_text(title, max_length=MAX_TITLE_LENGTH), "listing", is_series=kind == "series"
        )
        for title, key, kind in rows
        if is_key(key)
    ][:MAX_MATCHES]


def _picked(found: Sequence[FoundChannel], pick: str) -> FoundChannel:
    for one in found:
        if one.key == pick:
            return one
    raise UserError("Nothing is selected.", remedy="Select one of the matches.")


def _new_source(typed: SeriesInput, found: FoundChannel) -> NewSource:
    if typed.series_id is None and not found.is_series and typed.brings != "chapters":
        return NewSource(found)
    return NewSource(found, typed.series_id, typed.series, typed.pattern, typed.language, needs_series=True)


async def _follow(site: Site, caller: Caller, added: SourceAdded) -> None:
    """Let the person follow the series, or the feed if it brings none."""
    subject = Subject(series_id=added.series_id) if added.series_id else Subject(channel_id=added.channel_id)
    async with site.transaction() as tx:
        now = site.parts.clock.now()
        await follows.follow(tx, subject, user_id=caller.user_id, ids=site.parts.ids, now=now)


async def _page(
    site: Site,
    caller: Caller,
    typed: SeriesInput,
    *,
    found: Sequence[FoundChannel] | None = None,
    pick: str = "",
    problem: str = "",
) -> Response:
    async with site.transaction() as tx:
        target = None if typed.series_id is None else await get_series(tx, typed.series_id)
        titles = (await list_titles(tx))[:MAX_SUGGESTED] if found else []
    page = site.renderer.render(
        "series_add.html",
        caller=caller,
        typed=typed,
        platforms=platforms_of(site),
        found=found,
        pick=pick,
        target=target,
        titles=titles,
        problem=problem,
        max_length={
            "query": MAX_QUERY_LENGTH,
            "title": MAX_TITLE_LENGTH,
            "pattern": MAX_PATTERN,
            "language": MAX_LANGUAGE_LENGTH,
        },
    )
    page.status_code = 422 if problem else 200
    return page


def _why(error: UserError | WorkError) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, RateLimited):
        return f"The site is not asked too often. Try again in {max(1, round(error.retry_after_s))} seconds."
    return f"It could not be looked at: {mask_url(str(error))}"
