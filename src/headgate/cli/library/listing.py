"""`headgate library list`: the library as its page shows it, with all filters and sorts."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue.shelf.listing import (
    ListedRow,
    ShelfCount,
    count_shelf,
    describe_view,
    list_shelf,
)
from headgate.catalogue.shelf.views import list_views
from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.filter_options import FilterOptions, with_filters
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.lookup.views import find_view
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.errors import UserError
from headgate.domain.library.shelf_filters import ShelfView, parse_view, read_view, view_pairs
from headgate.domain.words.times import relative, size_text
from headgate.storage.database import Tx

Sort = Annotated[
    str,
    typer.Option("--sort", metavar="ORDER", help="newest, oldest, name, size (largest first) or smallest."),
]
SavedName = Annotated[
    str,
    typer.Option("--view", metavar="NAME", help="Start from a saved view; other filters are added to it."),
]


@with_filters
def list_library(
    *,
    filters: FilterOptions,
    sort: Sort = "",
    view: SavedName = "",
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum rows.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List groups and items; copies are one row. A group is listed if one member matches all filters."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            saved = await _saved_pairs(tx, view, user=user)
            wanted = read_view([*saved, *await filters.pairs(tx), ("sort", sort)])
            page = await list_shelf(tx, wanted, limit=limit)
            count = await count_shelf(tx, wanted.filters)
            chips = await describe_view(tx, wanted)
        if as_json:
            more = page.next is not None
            print_json({"query": wanted.query, "rows": page.rows, "has_more": more, "count": count})
            return
        _print(page.rows, context, empty="Nothing matches." if chips else "Nothing was found yet.")
        if chips:
            typer.echo(f"Filters: {', '.join(chip.label for chip in chips)}.")
        typer.echo(_counted(count, shown=len(page.rows)))

    with_database(look)


def _print(rows: list[ListedRow], context: CommandContext, *, empty: str) -> None:
    now = context.clock.now()
    print_table(
        ("Name", "Kind", "Type", "Creator", "Channel", "Members", "Files", "Size", "Posted"),
        [
            (
                row.name,
                "group" if row.group_id else row.kind,
                row.type.capitalize() if row.type == "mixed" else row.type,
                ", ".join(row.creators),
                ", ".join(channel.title for channel in row.channels),
                row.member_count if row.group_id else "",
                row.file_count,
                size_text(row.size_bytes) if row.size_bytes else "",
                relative(row.sort_at, now),
            )
            for row in rows
        ],
        numeric=("Members", "Files", "Size"),
        empty=empty,
    )


def _counted(count: ShelfCount, *, shown: int) -> str:
    """Say how many rows there are, and how to see more."""
    if count.rows is None:
        return f"{shown} shown; there are too many to count. --limit shows more, --json also prints ids."
    total = f"{count.rows:,}{'+' if count.more else ''}"
    if count.rows <= shown and not count.more:
        return f"{total} in all."
    return f"{shown} of {total}; --limit shows more, --json also prints ids."


async def _saved_pairs(tx: Tx, name: str, *, user: str) -> list[tuple[str, str]]:
    if not name:
        return []
    who = await get_user(tx, user)
    saved = find_view(await list_views(tx, user_id=who.id), name, who)
    return view_pairs(_without_search(parse_view(saved.query)))


def _without_search(view: ShelfView) -> ShelfView:
    if view.search:
        raise UserError(
            "This view searches for words.", remedy="Search for them.", command="headgate library search"
        )
    return view
