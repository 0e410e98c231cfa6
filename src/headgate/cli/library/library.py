"""`headgate library`: list items, show one with its files and where it was seen, and copy its files."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue.items import ItemDetails, list_page, show_item
from headgate.catalogue.labelled_items import with_labels
from headgate.catalogue.stored import list_contents
from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.export import export
from headgate.cli.library.files import drop, fetch, remove
from headgate.cli.library.label import label, labels_text
from headgate.cli.library.sets import dismiss, join, retry, separate
from headgate.cli.library.stored_text import print_stored
from headgate.cli.lookup.items import find_item
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.text import storable, typed_text
from headgate.domain.words.reasons import verdict_text
from headgate.domain.words.times import exact, relative, size_text

app = typer.Typer(no_args_is_help=True, help="List and show what was found, and copy files.")


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
            listed = await with_labels(tx, page.items)
        if as_json:
            print_json({"items": listed, "has_older": page.has_older})
            return
        now = context.clock.now()
        print_table(
            ("Title", "Kind", "Creator", "Channel", "Size", "Sent"),
            [
                (
                    item.title,
                    item.kind,
                    item.creator,
                    item.channel_title,
                    size_text(item.size_bytes) if item.size_bytes else "",
                    relative(item.sent_at, now),
                )
                for item in listed
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
    inside: Annotated[
        str, typer.Option("--inside", metavar="FOLDER", help="Show this folder of the archive.")
    ] = "",
    find: Annotated[
        str, typer.Option("--find", metavar="WORDS", help="Show files in the archive whose path has this.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Show an item: what was said with it, its files and what is inside, and where it was seen."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            details = await show_item(tx, await find_item(tx, reference))
            page = None
            if details.stored.has_tree:
                page = await list_contents(
                    tx, details.item.id, under=storable(inside), search=typed_text(find)
                )
        if as_json:
            print_json({**vars(details), "inside": page})
        else:
            _print(details, context)
            print_stored(details.stored, page)

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
    typer.echo(labels_text(details.labels))
    if details.volumes:
        missing = f" Missing: {details.volumes.missing}." if details.volumes.missing else ""
        said = f"{details.volumes.volumes}, {details.volumes.state_text}: {details.volumes.reason}.{missing}"
        typer.echo(said[:1].upper() + said[1:])
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
app.command()(export)
app.command()(join)
app.command()(separate)
app.command()(retry)
app.command()(dismiss)
app.command()(label)
