"""`headgate library label` and `headgate label`: creators and tags of items, and the names in use."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue import labels
from headgate.catalogue.labels import COUNT_CAP, LabelChange
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.items import find_item
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.errors import UserError
from headgate.domain.library.item_labels import ItemLabels
from headgate.domain.library.label_rules import LabelKind

app = typer.Typer(no_args_is_help=True, help="List creators and tags; rename and merge them.")

KindArgument = Annotated[LabelKind, typer.Argument(metavar="KIND", help="creator or tag.")]
TagsOption = Annotated[list[str] | None, typer.Option(metavar="TAG", help="Add a tag. Repeatable.")]


def label(
    items: Annotated[
        list[str], typer.Argument(metavar="ITEM…", help="Ids of items, or words of their titles.")
    ],
    *,
    creator: Annotated[str, typer.Option(metavar="NAME", help="Set who made it.")] = "",
    no_creator: Annotated[bool, typer.Option("--no-creator", help="Say that it has none.")] = False,
    reset_creator: Annotated[
        bool, typer.Option("--reset-creator", help="Use the creator that the rules find.")
    ] = False,
    add: TagsOption = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Remove a tag; rules do not add it again. Repeatable."),
    ] = None,
    reset: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Leave a tag to the rules. Repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set the creator and tags of items; what you set wins over the rules."""
    if creator and no_creator:
        raise UserError("Use --creator or --no-creator, not both.", field="creator")
    change = LabelChange(
        creator="" if no_creator else creator or None,
        reset_creator=reset_creator,
        add=tuple(add or ()),
        remove=tuple(remove or ()),
        reset=tuple(reset or ()),
    )
    if change == LabelChange():
        raise UserError("Nothing to change was named.", command="headgate library label --help")

    async def say(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            item_ids = [await find_item(tx, item) for item in items]
            changed = await labels.change_labels(tx, item_ids, change, now=context.clock.now())
        if as_json:
            print_json({str(item_id): shown for item_id, shown in changed.items()})
            return
        for shown in changed.values():
            typer.echo(labels_text(shown))

    with_database(say)


def labels_text(shown: ItemLabels) -> str:
    """Say the creator and tags of an item in one line."""
    by = (
        "" if shown.creator is None or shown.creator.source == "person" else f" (rule {shown.creator.rule!r})"
    )
    creator = f"Creator: {shown.creator_name or ('none' if shown.no_creator else 'unknown')}{by}"
    removed = f"; removed: {', '.join(shown.removed_tags)}" if shown.removed_tags else ""
    return f"{creator}. Tags: {', '.join(shown.tag_names) or 'none'}{removed}."


@app.command("list")
def list_names(
    kind: KindArgument,
    search: Annotated[str, typer.Argument(metavar="[WORDS]", help="Only names that contain this.")] = "",
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum rows.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List creators or tags by name, with how many items have each."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            page = await labels.list_names(tx, kind, search=search, limit=limit)
        if as_json:
            print_json({"names": page.names, "has_more": page.next is not None})
            return
        print_table(
            ("Name", "Shown as", "Items"),
            [
                (
                    name.name,
                    name.shown_as if name.shown_as != name.name else "",
                    name.items if name.items <= COUNT_CAP else f"{COUNT_CAP}+",
                )
                for name in page.names
            ],
            numeric=("Items",),
            empty=f"No {kind} contains {search!r}." if search else f"No item has a {kind} yet.",
        )
        if page.next is not None:
            typer.echo("There are more; raise --limit to see them.")

    with_database(look)


@app.command()
def rename(
    kind: KindArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name as it is listed.")],
    to: Annotated[
        str, typer.Argument(metavar="NEW", help="The new name; one that is in use merges the two.")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Rename a creator or tag everywhere, or merge it into another."""

    async def act(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            new = await labels.rename(tx, kind, name, to=to)
        if as_json:
            print_json({"name": new})
        else:
            typer.echo(f"The {kind} {name} is shown as {new} everywhere.")

    with_database(act)


@app.command()
def restore(
    kind: KindArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that was renamed.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Undo the renaming of a creator or tag."""

    async def act(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            await labels.restore_name(tx, kind, name)
        if as_json:
            print_json({"name": name})
        else:
            typer.echo(f"The {kind} {name} is shown under its own name again.")

    with_database(act)
