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
from headgate.cli.lookup.channels import get_channel
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.lookup.views import find_view
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.errors import UserError
from headgate.domain.library.shelf_filters import ShelfView, parse_view, read_view, view_pairs
from headgate.domain.words.times import relative, size_text
from headgate.storage.database import Tx

Channels = Annotated[
    list[str] | None, typer.Option("--channel", metavar="CHANNEL", help="In this channel. Repeatable: any.")
]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="CHANNEL/KEY", help="In this topic of a channel. Repeatable: any."),
]
Creators = Annotated[
    list[str] | None, typer.Option("--creator", metavar="NAME", help="By this creator. Repeatable: any.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="NAME", help="With this tag. Repeatable: all of them.")
]
Types = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="Of this type: zip, stl. Repeatable: any.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help="Of this kind: package, clip. Repeatable: any."),
]
States = Annotated[
    list[str] | None,
    typer.Option(
        "--state", metavar="STATE", help="stored, waiting, partial, listed, dropped. Repeatable: any."
    ),
]
FirstDay = Annotated[str, typer.Option("--from", metavar="DAY", help="From this day on (UTC): 2026-01-31.")]
LastDay = Annotated[str, typer.Option("--to", metavar="DAY", help="Up to this day, included.")]
MinSize = Annotated[str, typer.Option("--min-size", metavar="SIZE", help="At least so large: 500 kB, 2 GB.")]
MaxSize = Annotated[str, typer.Option("--max-size", metavar="SIZE", help="At most so large.")]
Ungrouped = Annotated[bool, typer.Option("--ungrouped", help="Only what is in no group.")]
Problems = Annotated[bool, typer.Option("--problems", help="Only what has a problem.")]
Sort = Annotated[
    str,
    typer.Option("--sort", metavar="ORDER", help="newest, oldest, name, size (largest first) or smallest."),
]
SavedName = Annotated[
    str,
    typer.Option("--view", metavar="NAME", help="Start from a saved view; other filters are added to it."),
]


def list_library(
    *,
    channel: Channels = None,
    topic: Topics = None,
    creator: Creators = None,
    tag: Tags = None,
    of_type: Types = None,
    kind: Kinds = None,
    state: States = None,
    first_day: FirstDay = "",
    last_day: LastDay = "",
    min_size: MinSize = "",
    max_size: MaxSize = "",
    ungrouped: Ungrouped = False,
    problems: Problems = False,
    sort: Sort = "",
    view: SavedName = "",
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum rows.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List groups and items; copies are one row. A group is listed if one member matches all filters."""
    pairs = [
        *field_pairs("creator", creator),
        *field_pairs("tag", tag),
        *field_pairs("type", of_type),
        *field_pairs("kind", kind),
        *field_pairs("state", state),
        ("from", first_day),
        ("to", last_day),
        ("min_size", min_size),
        ("max_size", max_size),
        *([("ungrouped", "1")] if ungrouped else []),
        *([("problems", "1")] if problems else []),
        ("sort", sort),
    ]

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            saved = await _saved_pairs(tx, view, user=user)
            places = await channel_pairs(tx, channel, topic)
            wanted = read_view([*saved, *places, *pairs])
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


def field_pairs(name: str, values: list[str] | None) -> list[tuple[str, str]]:
    return [(name, value) for value in values or []]


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


async def channel_pairs(
    tx: Tx, channels: list[str] | None, topics: list[str] | None
) -> list[tuple[str, str]]:
    """Return channels and topics by their ids, however a person names them."""
    found = [await get_channel(tx, reference, with_listings=True) for reference in channels or []]
    pairs = [("channel", str(channel.id)) for channel in found]
    for reference in topics or []:
        channel, slash, key = reference.rpartition("/")
        if not slash:
            raise UserError(f"{reference!r} is not a topic.", remedy="Write CHANNEL/KEY.", field="topic")
        pairs.append(("topic", f"{(await get_channel(tx, channel)).id}/{key}"))
    return pairs
