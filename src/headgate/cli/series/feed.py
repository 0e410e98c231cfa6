"""`headgate feed`: RSS, Atom and JSON feeds, and the pages that name them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.series import get_listing
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table, working
from headgate.cli.phrases import count_of
from headgate.cli.series import listing_text
from headgate.cli.series.adding import (
    FEEDS,
    AddOptions,
    PatternOption,
    PickOption,
    ToOption,
    add_source,
    open_sources,
    say_added,
)
from headgate.domain.errors import UserError
from headgate.domain.listings.opml import MAX_BYTES
from headgate.domain.words.frequency import frequency_word
from headgate.domain.words.times import relative
from headgate.intake.listings.opml import Imported, OpmlLists
from headgate.intake.listings.series import remove_feed
from headgate.kernel.logs import mask_url
from headgate.storage.channels.requests import count_holdings
from headgate.storage.listings.listing_overview import ListingOverview, list_listings
from headgate.storage.listings.listings import list_sources

app = typer.Typer(no_args_is_help=True, help="Follow feeds (RSS, Atom, JSON); import and export OPML.")

_MAX = 100_000
_MAX_REFUSALS = 20

FeedArgument = Annotated[str, typer.Argument(metavar="FEED", help="Title, address or id of a feed.")]


@app.command()
def add(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="Address of a feed, or of a page that links to one.")
    ],
    *,
    title: Annotated[str, typer.Option(help="Title to show instead of the feed's own.")] = "",
    series: Annotated[
        str,
        typer.Option(
            "--series", metavar="TITLE", help="Treat its entries as chapters of a new series with this title."
        ),
    ] = "",
    to: ToOption = "",
    pattern: PatternOption = "",
    pick: PickOption = None,
    as_json: AsJson = False,
) -> None:
    """Follow a feed; its entries become posts, or chapters of a series with --series, --to or --pattern."""
    if series and to:
        raise UserError("--series creates a series, --to names an existing one.", remedy="Use one of them.")
    wish = AddOptions(
        address, platform=FEEDS, title=title, series_title=series, to=to, pattern=pattern, pick=pick
    )

    async def work(context: CommandContext) -> None:
        say_added(await add_source(context, wish), as_json=as_json)

    with_database(work)


@app.command("list")
def list_all(
    *,
    limit: Annotated[int, typer.Option(min=1, max=_MAX, help="Maximum rows.")] = 1000,
    as_json: AsJson = False,
) -> None:
    """List feeds: whether they work, how often they are checked, when they last answered."""

    async def look(context: CommandContext) -> None:
        now = context.clock.now()
        async with context.database.transaction() as tx:
            found = await list_listings(tx, platform=FEEDS, limit=limit + 1)
            shown = found[:limit]
            sources = await list_sources(tx, [one.channel_id for one in shown])
        if as_json:
            print_json(
                [
                    {
                        **listing_text.as_document(one, now),
                        "series": [source.series_title for source in sources[one.channel_id]],
                    }
                    for one in shown
                ]
            )
            return
        _print_feeds(shown, now)
        if len(found) > limit:
            typer.echo(f"… and more; --limit shows up to {_MAX:,}.")

    with_database(look)


def _print_feeds(feeds: Sequence[ListingOverview], now: datetime) -> None:
    print_table(
        ["feed", "state", "checked", "last success", "next check"],
        [
            (
                mask_url(one.title),
                listing_text.state_word(one, now),
                frequency_word(one.tier) + (" (chosen)" if one.tier_pinned else ""),
                "never" if one.succeeded_at is None else relative(one.succeeded_at, now),
                listing_text.next_check(one, now),
            )
            for one in feeds
        ],
        empty="No feeds yet. Add one with `headgate feed add ADDRESS`, or import a list with `feed import`.",
    )
    troubled = [(one, wrong) for one in feeds if (wrong := listing_text.trouble(one, now))]
    for one, wrong in troubled:
        typer.echo(f"{mask_url(one.title)}: {wrong.rstrip('.')}.")
    if troubled:
        typer.echo("`headgate explain FEED` says more; `headgate series check FEED` tries it now.")


@app.command()
def remove(feed: FeedArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Stop following a feed, and delete its posts and releases."""

    async def delete(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_listing(tx, feed, platform=FEEDS)
            brings = (await list_sources(tx, [named.id]))[named.id]
            holdings = await count_holdings(tx, [named.id])
        title = mask_url(named.title)
        posts = count_of(holdings.items, "post")
        cut = f" and its releases in {_names([one.series_title for one in brings])}"
        confirm(f"Remove {title} with {posts}{cut if brings else ''}?", yes=yes)
        async with context.database.transaction() as tx:
            await remove_feed(tx, named.id, now=context.clock.now())
        if as_json:
            print_json({"id": named.id, "title": title, "items": holdings.items})
        else:
            typer.echo(f"{title} is removed, with {posts}.")

    with_database(delete)


def _names(titles: Sequence[str]) -> str:
    return ", ".join(titles[:3]) + (f" and {len(titles) - 3:,} more" if len(titles) > 3 else "")


@app.command("import")
def take(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An OPML file; `-` is standard input.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Follow all feeds of an OPML file; feeds that you already follow stay as they are."""
    document = _read(file)

    async def work(context: CommandContext) -> None:
        async with open_sources(context, FEEDS) as sources:
            with working("Importing…"):
                taken = await OpmlLists(sources).take(document)
        if as_json:
            print_json(_as_document(taken))
        else:
            _say_taken(taken)

    with_database(work)


def _read(file: Path) -> bytes:
    """Return a file's bytes; of a far too large one only so many that it is refused."""
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror or error}.") from error


def _as_document(taken: Imported) -> dict[str, list[dict[str, str]]]:
    return {
        "added": [_feed(one.url, one.title) for one in taken.added],
        "known": [_feed(one.url, one.title) for one in taken.known],
        "refused": [{**_feed(one.feed.url, one.feed.title), "reason": one.reason} for one in taken.refused],
    }


def _feed(url: str, title: str) -> dict[str, str]:
    return {"url": mask_url(url), "title": title}


def _say_taken(taken: Imported) -> None:
    new = count_of(len(taken.added), "feed is", "feeds are")
    known = f"; {count_of(len(taken.known), 'was', 'were')} already followed" if taken.known else ""
    typer.echo(f"{new} new{known}.")
    if taken.added:
        typer.echo("They are being checked, site by site; see `headgate feed list`.")
    for one in taken.refused[:_MAX_REFUSALS]:
        typer.echo(f"Not followed: {mask_url(one.feed.url)}: {one.reason}", err=True)
    if len(taken.refused) > _MAX_REFUSALS:
        more = len(taken.refused) - _MAX_REFUSALS
        typer.echo(f"… and {more:,} more are not followed; --json has them all.", err=True)


@app.command()
def export(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write; standard output if omitted.")
    ] = None,
    *,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Include the logins and tokens in addresses.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Write all feeds as OPML, with their series."""
    if file is not None and file.exists():
        confirm(f"Replace {file}?", yes=yes)

    async def work(context: CommandContext) -> None:
        async with open_sources(context, FEEDS) as sources:
            document = await OpmlLists(sources).write(with_secrets=with_secrets)
        if file is None:
            typer.echo(document, nl=False)
            return
        try:
            file.write_text(document, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{file} cannot be written: {error.strerror or error}.") from error
        typer.echo(f"Feeds written to {file}.")

    with_database(work)
