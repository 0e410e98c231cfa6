"""`headgate library`: list items, and show one with what was said and where it was seen."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer

from headgate.catalogue.items import ItemDetails, list_page, show_item
from headgate.cli.context import CommandContext, with_database
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.errors import UserError
from headgate.domain.text import containing, typed_text
from headgate.domain.words.reasons import verdict_text
from headgate.domain.words.times import exact, relative, size_text
from headgate.storage.catalogue.items import find_items
from headgate.storage.database import Tx

app = typer.Typer(no_args_is_help=True, help="List and show what was found.")

_MAX_NAMED = 5


@app.command("list")
def list_items(
    search: Annotated[str, typer.Argument(metavar="[WORDS]", help="Only titles that contain this.")] = "",
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum rows.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List items, the newest first."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            page = await list_page(tx, below=None, search=typed_text(search), limit=limit)
        if as_json:
            print_json({"items": page.items, "has_older": page.has_older})
            return
        now = context.clock.now()
        print_table(
            ("Title", "Kind", "Channel", "Size", "Sent"),
            [
                (
                    item.title,
                    item.kind,
                    item.channel_title,
                    size_text(item.size_bytes) if item.size_bytes else "",
                    relative(item.sent_at, now),
                )
                for item in page.items
            ],
            numeric=("Size",),
            empty=f"No title contains {search!r}." if search else "Nothing was found yet.",
        )
        if page.has_older:
            typer.echo("There are more; raise --limit to see them. --json also prints ids.")

    with_database(look)


@app.command()
def show(
    reference: Annotated[str, typer.Argument(metavar="ITEM", help="Id of an item, or words of its title.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show an item: what was said with it, and where it was seen."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            details = await show_item(tx, await _find(tx, reference))
        if as_json:
            print_json(details)
        else:
            _print(details, context)

    with_database(look)


async def _find(tx: Tx, reference: str) -> UUID:
    """Return the item that is meant, or say which could be."""
    try:
        return UUID(reference)
    except ValueError:
        found = await find_items(tx, pattern=containing(typed_text(reference)), limit=_MAX_NAMED + 1)
    if not found:
        raise UserError(f"No title contains {reference!r}.", command="headgate library list")
    same = [item for item in found if item.title.casefold() == reference.strip().casefold()]
    if len(same) == 1 or len(found) == 1:
        return (same or found)[0].id
    named = "; ".join(f"{item.id} ({item.title})" for item in found[:_MAX_NAMED])
    raise UserError(f"Several titles contain {reference!r}.", remedy=f"Use the id of one: {named}.")


def _print(details: ItemDetails, context: CommandContext) -> None:
    item, now = details.item, context.clock.now()
    typer.echo(item.title)
    size = f", {size_text(item.size_bytes)}" if item.size_bytes else ""
    typer.echo(f"{item.kind.capitalize()}{size}, in {item.channel_title}; sent {exact(item.sent_at)}")
    if item.url:
        typer.echo(item.url)
    if item.hidden:
        typer.echo("Hidden: the settings of its channel no longer keep it.")
    if details.said:
        typer.echo(f"\n{details.said.text}\n")
    print_table(
        ("Sent", "By", "Topic", "File", "State"),
        [
            (
                relative(seen.sent_at, now),
                seen.author,
                seen.topic_title or seen.topic,
                seen.file_name,
                verdict_text(seen.verdict) + (", deleted on the platform" if seen.deleted_at else ""),
            )
            for seen in details.places
        ],
        title="Where it was seen",
        empty="No message contains it any more.",
    )
