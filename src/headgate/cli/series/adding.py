"""`headgate series add` and `headgate feed add`: from what a person types to a source."""

from __future__ import annotations

import shlex
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated
from uuid import UUID

import typer

from headgate.cli.connectors import connector_of, connectors_of, open_links
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.series import get_named_series
from headgate.cli.lookup.users import get_user
from headgate.cli.output import AsJson, print_json, working
from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import RateLimited, UserError, WorkError
from headgate.intake.listings.series import get_series
from headgate.intake.listings.sources import (
    FEEDS,
    SIMULATED,
    ListingSources,
    NewSource,
    SourceAdded,
    check_entries,
    guess_platform,
)
from headgate.kernel.logs import mask_url
from headgate.outflow.notifications import follows
from headgate.storage.listings.listing_overview import get_listing_states
from headgate.storage.listings.series import SeriesName
from headgate.storage.notifications.follows import Subject

_MAX_LISTED = 20
_MAX_IN_A_LINE = 5

PatternOption = Annotated[
    str,
    typer.Option(
        "--pattern", metavar="PATTERN", help="Only entries with a title like 'One Piece {number}*'."
    ),
]
PickOption = Annotated[
    int | None, typer.Option("--pick", metavar="N", min=1, help="Take the Nth of several that match.")
]
ToOption = Annotated[str, typer.Option("--to", metavar="SERIES", help="Add it to this existing series.")]


@dataclass(frozen=True)
class AddOptions:
    """What somebody wants a listing to bring, as it was typed."""

    query: str
    platform: str = ""
    title: str = ""
    series_title: str = ""
    to: str = ""
    pattern: str = ""
    language: str = ""
    pick: int | None = None
    follow: str = ""
    needs_series: bool = False


@dataclass(frozen=True)
class Done:
    """What came of it."""

    platform: str
    key: str
    title: str
    """What the listing is called here."""
    added: SourceAdded
    series: SeriesName | None
    follower: str


def add(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="Title, address or key of a series, or address of a feed.")
    ],
    *,
    platform: Annotated[
        str,
        typer.Option(metavar="PLATFORM", help="Where to search: mangadex, feeds; simulated in a demo."),
    ] = "",
    title: Annotated[str, typer.Option(help="Title of the series.")] = "",
    to: ToOption = "",
    pattern: PatternOption = "",
    language: Annotated[
        str, typer.Option(metavar="TAG", help="Language of entries that do not name one, like en.")
    ] = "",
    pick: PickOption = None,
    follow: Annotated[
        str, typer.Option("--follow", metavar="USER", help="Notify this user of new chapters.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Find a series and follow it; with --to, add it as another source of an existing series."""
    if to and title:
        raise UserError(
            "--to names an existing series, which already has a title.", remedy="Leave --title out."
        )
    wish = AddOptions(
        query,
        platform=platform,
        series_title=title,
        to=to,
        pattern=pattern,
        language=language,
        pick=pick,
        follow=follow,
        needs_series=True,
    )

    async def work(context: CommandContext) -> None:
        say_added(await add_source(context, wish), as_json=as_json)

    with_database(work)


async def add_source(context: CommandContext, wish: AddOptions) -> Done:
    """Find what is meant, add it, and let it bring the series that is wanted."""
    check_entries(wish.pattern, wish.language)
    async with context.database.transaction() as tx:
        to = await get_named_series(tx, wish.to) if wish.to else None
        follower = await get_user(tx, wish.follow) if wish.follow else None
    platform = wish.platform or guess_platform(connectors_of(context), wish.query)
    async with open_sources(context, platform) as sources:
        found = choose(await find(sources, platform, wish.query), wish, platform)
        source = NewSource(
            replace(found, title=wish.title or found.title),
            to.id if to else None,
            wish.series_title,
            wish.pattern,
            wish.language,
            needs_series=wish.needs_series,
        )
        added = await sources.add(platform, source)
    async with context.database.transaction() as tx:
        (listing,) = await get_listing_states(tx, [added.channel_id])
        if added.series_id is None:
            return Done(platform, listing.key, listing.title, added, None, "")
        series = await get_series(tx, added.series_id)
        if follower is not None:
            subject, now = Subject(series_id=series.id), context.clock.now()
            await follows.follow(tx, subject, user_id=follower.id, ids=context.ids, now=now)
    name = SeriesName(series.id, series.title)
    return Done(platform, listing.key, listing.title, added, name, follower.name if follower else "")


@asynccontextmanager
async def open_sources(context: CommandContext, platform: str) -> AsyncGenerator[ListingSources, None]:
    """Yield the way to find and follow listings of a platform that this installation has."""
    if platform != SIMULATED and context.anchor is not None and context.anchor.scale != 1:
        raise UserError(
            f"This is a demo with a fast clock, so it does not contact {platform}.",
            remedy="Start Headgate without the demo to follow real sources, or try a simulated one.",
            command="headgate series add 'Salt Road'",
        )
    connector_of(context, platform)
    async with open_links(context) as links:
        yield ListingSources(links, context.database, context.clock, context.ids)


async def find(sources: ListingSources, platform: str, query: str) -> Sequence[FoundChannel]:
    """Ask the platform what a person may mean."""
    try:
        with working(f"Asking {platform}…"):
            return await sources.find(platform, query)
    except RateLimited as error:
        raise UserError(
            f"This must wait: {error}.",
            remedy=f"Try again in {max(1, round(error.retry_after_s))} seconds.",
        ) from error
    except WorkError as error:
        raise UserError(
            f"{mask_url(query)!r} could not be found: {error}.",
            remedy="Check the address in a browser." if platform == FEEDS else "Try again later.",
            command="headgate feed add ADDRESS" if platform == FEEDS else "headgate account list",
        ) from error


def choose(found: Sequence[FoundChannel], wish: AddOptions, platform: str) -> FoundChannel:
    """Return the one that is meant: the only one, the picked one, or what a person at the terminal says."""
    shown = mask_url(wish.query)
    if not found:
        raise UserError(f"Nothing was found for {shown!r} on {platform}.", remedy=_elsewhere(platform))
    if wish.pick is not None and wish.pick > len(found):
        raise UserError(f"There is no match {wish.pick} for {shown!r}.", remedy=f"There are {len(found)}.")
    if wish.pick is not None:
        return found[wish.pick - 1]
    if len(found) == 1:
        return found[0]
    if not sys.stdin.isatty():
        listed = "; ".join(f"{n} {_shown(one)}" for n, one in enumerate(found[:_MAX_IN_A_LINE], 1))
        more = "; …" if len(found) > _MAX_IN_A_LINE else ""
        raise UserError(
            f"{len(found)} match {shown!r} on {platform}.",
            remedy=f"Choose one with --pick N: {listed}{more}.",
        )
    return found[_ask(found) - 1]


def _ask(found: Sequence[FoundChannel]) -> int:
    listed = found[:_MAX_LISTED]
    for number, one in enumerate(listed, 1):
        typer.echo(f"{number:>3}  {_shown(one)}", err=True)
    if len(found) > len(listed):
        typer.echo(f"     … and {len(found) - len(listed):,} more: a longer title finds fewer.", err=True)
    while True:
        number: int = typer.prompt("Which one", type=int, err=True)
        if 1 <= number <= len(listed):
            return number
        typer.echo(f"Take a number from 1 to {len(listed)}.", err=True)


def _shown(found: FoundChannel) -> str:
    return f"{found.title or 'no title'} ({mask_url(found.key)})"


def _elsewhere(platform: str) -> str:
    if platform == FEEDS:
        return "Give the address of a feed, or of a page that has one."
    return "Write the title as the site does, give its address there, or search elsewhere with --platform."


def say_added(done: Done, *, as_json: bool) -> None:
    """Say what is followed now, and how to watch what becomes of it."""
    if as_json:
        print_json(_document(done))
        return
    name = mask_url(done.title)
    if done.series is None:
        state = "is followed" if done.added.is_new else "was followed already"
        typer.echo(f"{name} {state}; its entries become posts in the library.")
        typer.echo("It is checked in a moment; watch it with `headgate feed list`.")
        return
    known = "" if done.added.is_new else ", which was followed already"
    typer.echo(f"{done.series.title} comes from {done.platform}: {name}{known}.")
    typer.echo(
        f"It is checked in a moment; watch it with `headgate series show {shlex.quote(done.series.title)}`."
    )
    if done.follower:
        typer.echo(f"{done.follower} is notified of chapters published from now on.")


def _document(done: Done) -> dict[str, str | bool | UUID | None]:
    return {
        "platform": done.platform,
        "key": mask_url(done.key),
        "title": done.title,
        "channel_id": done.added.channel_id,
        "is_new": done.added.is_new,
        "series_id": done.added.series_id,
        "series_title": done.series.title if done.series else "",
        "followed_by": done.follower,
    }
