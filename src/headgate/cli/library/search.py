"""`headgate library search` and `headgate library reindex`."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue.search.indexing import get_progress, index_next, start_reindex
from headgate.catalogue.search.places import read_place
from headgate.catalogue.search.searching import Hit, SearchPage, search_library
from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.filter_options import FilterOptions, with_filters
from headgate.cli.output import AsJson, print_json, print_table
from headgate.cli.phrases import count_of
from headgate.domain.library.shelf_filters import read_view
from headgate.domain.text import typed_text
from headgate.domain.words.match_words import match_text
from headgate.domain.words.times import exact, relative


@with_filters
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="Words, or how they begin.")],
    *,
    filters: FilterOptions,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum rows.")] = 20,
    after: Annotated[str, typer.Option(help="Continue where an earlier search ended.")] = "",
    as_json: AsJson = False,
) -> None:
    """Search names, captions, creators, tags and the files inside archives."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            view = read_view(await filters.pairs(tx))
            page = await search_library(
                tx,
                typed_text(" ".join(words)),
                clock=context.clock,
                filters=view.filters,
                limit=limit,
                after=read_place(after),
            )
        if as_json:
            print_json({**vars(page), "following": str(page.following) if page.following else None})
        else:
            _print(page, context)

    with_database(look)


def _print(page: SearchPage, context: CommandContext) -> None:
    for typed, meant in page.meant.items():
        typer.echo(f"Nothing has {typed!r}; searched for {' or '.join(meant)}.")
    now = context.clock.now()
    print_table(
        ("Name", "Found in", "Posted"),
        [(hit.name, _found_in(hit), relative(hit.sort_at, now)) for hit in page.hits],
        empty="Nothing was found.",
    )
    if page.searched_back_to:
        typer.echo(f"Searched back to {exact(page.searched_back_to)}.")
    if page.following:
        typer.echo(f"There is more: --after {page.following}")


def _found_in(hit: Hit) -> str:
    return "; ".join(match_text(match.field, match.text) for match in hit.matches)


def reindex(
    *,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start over even if a rebuild is under way.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Rebuild the search index. You can stop it at any time; it continues where it was."""

    async def work(context: CommandContext) -> None:
        fresh = await start_reindex(context.database, restart=restart)
        if not fresh and not as_json:
            typer.echo("A rebuild was under way; it continues.")
        progress = await get_progress(context.database)
        with typer.progressbar(length=progress.total, label="Indexing", hidden=as_json) as bar:
            bar.update(progress.done)
            while progress.under_way:
                await index_next(context.database, clock=context.clock)
                before, progress = progress, await get_progress(context.database)
                bar.update(progress.done - before.done)
        if as_json:
            print_json({"indexed": progress.done})
        else:
            typer.echo(f"{count_of(progress.done, 'item or group is', 'items and groups are')} indexed.")

    with_database(work)
