"""`headgate library`: list what there is, show an item and where it was seen, and copy its files."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue.items import ItemDetails, show_item
from headgate.catalogue.stored import list_contents
from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.chapters import chapters
from headgate.cli.library.export import export
from headgate.cli.library.files import drop, fetch, remove
from headgate.cli.library.group import app as group_app
from headgate.cli.library.group import tag
from headgate.cli.library.label import label, labels_text
from headgate.cli.library.listing import list_library
from headgate.cli.library.search import reindex, search
from headgate.cli.library.sends import chat, send, sends
from headgate.cli.library.sets import dismiss, join, retry, separate
from headgate.cli.library.stored_text import print_stored
from headgate.cli.library.verify import verify
from headgate.cli.library.views import app as views_app
from headgate.cli.lookup.items import find_item
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.text import storable, typed_text
from headgate.domain.words.reasons import verdict_text
from headgate.domain.words.times import exact, relative, size_text

app = typer.Typer(no_args_is_help=True, help="List and show what was found, and copy files.")


app.command("list")(list_library)
app.add_typer(views_app, name="views")


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
            _print_history(details, context)

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


def _print_history(details: ItemDetails, context: CommandContext) -> None:
    now = context.clock.now()
    print_table(
        ("When", "What"),
        [(relative(event.at, now), event.text) for event in details.history],
        title="History",
        empty="",
    )


app.command()(fetch)
app.command()(drop)
app.command()(remove)
app.command()(export)
app.command()(search)
app.command()(chapters)
app.command()(reindex)
app.command()(join)
app.command()(separate)
app.command()(retry)
app.command()(dismiss)
app.command()(label)
app.command()(tag)
app.command()(verify)
app.command()(send)
app.command()(chat)
app.add_typer(sends, name="sends")
app.add_typer(group_app, name="group")
