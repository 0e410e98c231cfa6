"""`headgate series`: follow series over all their sources."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.series import (
    ListingArgument,
    SeriesArgument,
    find_named_series,
    get_listing,
    get_named_series,
    get_source,
)
from headgate.cli.lookup.users import UserOption, find_user, get_user
from headgate.cli.notifications.follow import follow_series, unfollow_series
from headgate.cli.output import AsJson, Yes, confirm, print_json
from headgate.cli.phrases import count_of
from headgate.cli.series import tables as series_tables
from headgate.cli.series.adding import add
from headgate.cli.series.reading import read, unread
from headgate.cli.series.tables import ShownSeries
from headgate.domain.text import containing
from headgate.domain.words.frequency import FREQUENCY_SET, FrequencyChoice
from headgate.intake.listings import series as actions
from headgate.kernel.logs import mask_url
from headgate.outflow.notifications import follows, reading
from headgate.storage.database import Tx
from headgate.storage.listings import series as storage
from headgate.storage.listings.listing_overview import get_listing_states
from headgate.storage.listings.series import NOBODY, Series, SeriesName
from headgate.storage.notifications.follows import Subject

app = typer.Typer(no_args_is_help=True, help="Follow series from one or more sources.")

_PAGE = 1000
_MAX = 100_000

app.command()(add)


@app.command("list")
def list_all(
    *,
    search: Annotated[str, typer.Option(metavar="TEXT", help="Only titles that contain this.")] = "",
    followed: Annotated[
        str, typer.Option("--followed", metavar="USER", help="Only what this user follows.")
    ] = "",
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, max=_MAX, help="Maximum rows.")] = 100,
    everything: Annotated[bool, typer.Option("--all", help="Show all.")] = False,
    as_json: AsJson = False,
) -> None:
    """List series by title, with their latest chapter and unread chapters."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            reader = await get_user(tx, followed) if followed else await find_user(tx, user)
            user_id = NOBODY if reader is None else reader.id
            wanted = None if everything else limit + 1
            lines = await _list(tx, user_id, containing(search), followed=bool(followed), wanted=wanted)
            left = await reading.count_unread(tx, [line.id for line in lines], user_id=user_id)
        shown = lines if everything else lines[:limit]
        if as_json:
            print_json([series_tables.line_document(line, left, user=reader) for line in shown])
            return
        empty = (
            "No series is like that."
            if search or followed
            else "No series is followed yet: `headgate series add TITLE` finds one."
        )
        series_tables.print_list(shown, left, user=reader, now=context.clock.now(), empty=empty)
        if len(lines) > len(shown):
            typer.echo("… and more; --all shows them.")

    with_database(look)


async def _list(
    tx: Tx, user_id: UUID, pattern: str | None, *, followed: bool, wanted: int | None
) -> list[Series]:
    """Return so many series, or all, a page at a time."""
    lines: list[Series] = []
    while wanted is None or len(lines) < wanted:
        asked = _PAGE if wanted is None else min(_PAGE, wanted - len(lines))
        after = SeriesName(lines[-1].id, lines[-1].title) if lines else None
        page = await storage.list_series(
            tx, user_id=user_id, after=after, pattern=pattern, followed=followed, limit=asked
        )
        lines += page
        if len(page) < asked:
            break
    return lines


@app.command()
def show(
    series: SeriesArgument,
    *,
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, max=_MAX, help="Maximum chapters.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show a series: its sources, newest chapters, and what is unread."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            shown = await _show(tx, series, user=user, limit=limit)
        if as_json:
            print_json(series_tables.as_document(shown, now=context.clock.now()))
        else:
            series_tables.print_series(shown, now=context.clock.now())

    with_database(look)


async def _show(tx: Tx, reference: str, *, user: str, limit: int) -> ShownSeries:
    named = await get_named_series(tx, reference)
    reader = await find_user(tx, user)
    user_id = NOBODY if reader is None else reader.id
    sources = await storage.list_series_sources(tx, named.id)
    states = await get_listing_states(tx, [source.channel_id for source in sources])
    chapters = await storage.list_chapters(tx, named.id, limit=limit)
    left = await reading.count_unread(tx, [named.id], user_id=user_id)
    return ShownSeries(
        series=await actions.get_series(tx, named.id, user_id=user_id),
        sources=sources,
        states={state.channel_id: state for state in states},
        chapters=chapters,
        releases=await storage.list_releases(tx, [chapter.id for chapter in chapters]),
        user=reader,
        follow=await follows.find(tx, Subject(series_id=named.id), user_id=user_id) if reader else None,
        unread=left.get(named.id, 0),
    )


@app.command()
def rename(
    series: SeriesArgument,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Rename a series; sources never change the new title."""

    async def change(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_named_series(tx, series)
            kept = await actions.rename_series(tx, named.id, title)
        if as_json:
            print_json({"id": named.id, "title": kept})
        else:
            typer.echo(f"{named.title} is called {kept} now.")

    with_database(change)


@app.command()
def remove(series: SeriesArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a series with its chapters, everyone's progress, and sources that only it uses."""

    async def delete(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_named_series(tx, series)
            whole = await actions.get_series(tx, named.id)
            lone = await actions.list_lone_sources(tx, named.id)
        goes = f" and {count_of(len(lone), 'source')}" if lone else ""
        confirm(f"Remove {named.title} with {count_of(whole.chapters, 'chapter')}{goes}?", yes=yes)
        async with context.database.transaction() as tx:
            gone = await actions.remove_series(tx, named.id, now=context.clock.now())
        if as_json:
            print_json({**vars(named), "sources_removed": [source.channel_id for source in gone]})
            return
        typer.echo(f"{named.title} is removed.")
        if whole.sources > len(gone):
            left = count_of(whole.sources - len(gone), "source is", "sources are")
            typer.echo(f"{left} still followed, for other things: `headgate feed list`.")

    with_database(delete)


@app.command()
def detach(
    series: SeriesArgument, source: ListingArgument, *, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Remove a source from a series, and delete it if nothing else uses it."""

    async def cut(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_named_series(tx, series)
            meant = await get_source(tx, named, source)
        shown = f"{meant.title} ({meant.platform})"
        confirm(f"Remove {shown} from {named.title}? Chapters that only it has may be deleted too.", yes=yes)
        async with context.database.transaction() as tx:
            gone = await actions.remove_source(tx, named.id, meant.channel_id, now=context.clock.now())
        if as_json:
            print_json({"series_id": named.id, "channel_id": meant.channel_id, "source_removed": gone})
            return
        typer.echo(f"{shown} is no longer a source of {named.title}.")
        typer.echo("Nothing else used it, so it is deleted." if gone else "It is still followed.")

    with_database(cut)


@app.command()
def check(
    name: Annotated[str, typer.Argument(metavar="SERIES|SOURCE", help="A series, or one of its sources.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Check all sources of a series, or one source, now."""

    async def ask(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            title, channel_ids = await _check(tx, name, now=context.clock.now())
        if as_json:
            print_json({"title": title, "channel_ids": channel_ids})
            return
        sources = count_of(len(channel_ids), "source")
        typer.echo(f"{title} is checked in a moment, at {sources}.")
        typer.echo(f"`headgate explain {shlex.quote(title)}` says how it went.")

    with_database(ask)


async def _check(tx: Tx, name: str, *, now: datetime) -> tuple[str, list[UUID]]:
    if found := await find_named_series(tx, name):
        return found.title, await actions.check_series_now(tx, found.id, now=now)
    listing = await get_listing(tx, name)
    await actions.check_now(tx, [listing.id], now=now)
    return mask_url(listing.title), [listing.id]


@app.command()
def frequency(
    source: ListingArgument,
    choice: Annotated[
        FrequencyChoice,
        typer.Argument(metavar="FREQUENCY", help="often, normal, rarely, or automatic (Headgate decides)."),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Set how often a source is checked."""

    async def change(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            listing = await get_listing(tx, source)
            await actions.set_frequency(tx, listing.id, choice, now=context.clock.now())
        if as_json:
            print_json({"channel_id": listing.id, "frequency": choice})
        else:
            typer.echo(f"{listing.title}: {FREQUENCY_SET[choice]}")

    with_database(change)


app.command("follow")(follow_series)
app.command("unfollow")(unfollow_series)
app.command()(read)
app.command()(unread)
