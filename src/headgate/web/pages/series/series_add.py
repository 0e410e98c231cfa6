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
from headgate.domain.text import is_key, typed_text
from headgate.intake.listings.sources import NewSource, SourceAdded
from headgate.kernel.logs import mask_url
from headgate.outflow.notifications import follows
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.listings.series import SeriesName, find_series, get_series, list_titles
from headgate.storage.notifications.follows import Subject
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site

routes = Routes()

FEEDS = "feeds"
LONGEST_QUERY = 2000
LONGEST_TITLE = 500
MOST_MATCHES = 20
MOST_SUGGESTED = 500


@dataclass(frozen=True)
class Typed:
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
    query = typed_text(q, max_length=LONGEST_QUERY)
    typed = Typed(typed_text(platform), query, series, brings="chapters" if series else "posts")
    if not typed.platform or not query:
        return await _page(site, caller, typed)
    try:
        return await _page(site, caller, typed, found=await _find(site, typed))
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
    typed = Typed(
        typed_text(platform),
        typed_text(q, max_length=LONGEST_QUERY),
        series_id,
        brings,
        typed_text(series, max_length=LONGEST_TITLE),
        typed_text(pattern, max_length=LONGEST_TITLE),
        typed_text(language).lower(),
        follow,
    )
    found = _read_found(title or [], key or [], kind or [])
    try:
        source = await _new_source(site, typed, _picked(found, pick))
        added = await site.sources.add(typed.platform, source)
        await _settle(site, caller, typed, added)
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


async def _find(site: Site, typed: Typed) -> Sequence[FoundChannel]:
    if typed.platform not in platforms_of(site):
        raise UserError("Nothing can be found on this platform.", remedy="Choose one of those shown.")
    return (await site.sources.find(typed.platform, typed.query))[:MOST_MATCHES]


def _read_found(titles: list[str], keys: list[str], kinds: list[str]) -> list[FoundChannel]:
    """Return what was found when the form was shown."""
    rows = zip(titles, keys, kinds, strict=False)
    return [
        FoundChannel(key, typed_text(title, max_length=LONGEST_TITLE), "listing", is_series=kind == "series")
        for title, key, kind in rows
        if is_key(key)
    ][:MOST_MATCHES]


def _picked(found: Sequence[FoundChannel], pick: str) -> FoundChannel:
    for one in found:
        if one.key == pick:
            return one
    raise UserError("Nothing was picked.", remedy="Pick one of those that were found.")


async def _new_source(site: Site, typed: Typed, found: FoundChannel) -> NewSource:
    language = "".join(follows.checked_languages([typed.language])) if typed.language else ""
    if typed.series_id is None and not found.is_series and typed.brings != "chapters":
        return NewSource(found)
    if typed.series_id is None and not found.is_series and not typed.series:
        raise UserError("It is not said which series the feed brings.", remedy="Write its title.")
    async with site.transaction() as tx:
        known = await _known_series(tx, typed)
    return NewSource(
        found,
        series_id=None if known is None else known.id,
        series_title=typed.series,
        pattern=typed.pattern,
        language=language,
    )


async def _known_series(tx: Tx, typed: Typed) -> SeriesName | None:
    """Return the series that is meant, if it is there already."""
    if typed.series_id is not None:
        one = await get_series(tx, typed.series_id)
        if one is None:
            raise UserError("The series is not there any more.", remedy="Begin anew from the list of series.")
        return SeriesName(one.id, one.title)
    named = [
        one
        for one in (await find_series(tx, typed.series) if typed.series else [])
        if one.title.lower() == typed.series.lower()
    ]
    if len(named) > 1:
        raise UserError(
            f"{len(named)} series are called “{typed.series}”.",
            remedy="Open the one that you mean, and press “Add a source” there.",
        )
    return named[0] if named else None


async def _settle(site: Site, caller: Caller, typed: Typed, added: SourceAdded) -> None:
    """Tell all pages, and let the person follow what came of it if that is wished."""
    async with site.transaction() as tx:
        await publish(tx, Event("series"))
        subject = (
            Subject(series_id=added.series_id) if added.series_id else Subject(channel_id=added.channel_id)
        )
        if typed.follow and await follows.find(tx, subject, user_id=caller.user_id) is None:
            now = site.parts.clock.now()
            await follows.follow(tx, subject, user_id=caller.user_id, ids=site.parts.ids, now=now)


async def _page(
    site: Site,
    caller: Caller,
    typed: Typed,
    *,
    found: Sequence[FoundChannel] | None = None,
    pick: str = "",
    problem: str = "",
) -> Response:
    async with site.transaction() as tx:
        target = None if typed.series_id is None else await get_series(tx, typed.series_id)
        titles = (await list_titles(tx))[:MOST_SUGGESTED] if found else []
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
    )
    page.status_code = 422 if problem else 200
    return page


def _why(error: UserError | WorkError) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, RateLimited):
        return f"The site is not asked too often. Try again in {max(1, round(error.retry_after_s))} seconds."
    return f"It could not be looked at: {mask_url(str(error))}"
