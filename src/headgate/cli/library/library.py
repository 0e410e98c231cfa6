"""`headgate library`: list items, and show one with what was said and where it was seen."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue.items import ItemDetails, list_page, show_item
from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.files import drop, fetch, remove
from headgate.cli.lookup.items import find_item
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.text import typed_text
from headgate.domain.words.reasons import verdict_text
from headgate.domain.words.times import exact, relative, size_text

app = typer.Typer(no_args_is_help=True, help="List and show what was found.")


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
            details = await show_item(tx, await find_item(tx, reference))
        if as_json:
            print_json(details)
        else:
            _print(details, context)

    with_database(look)


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


app.command()(fetch)
app.command()(drop)
app.command()(remove)
