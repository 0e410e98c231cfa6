"""`headgate library group` and `headgate library tag`: groups of items, and the tags of all their members."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from headgate.catalogue.groups import covers, editing
from headgate.catalogue.groups.details import GroupDetails, show_group
from headgate.catalogue.groups.editing import Grouped
from headgate.catalogue.labels import LabelChange
from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.group_rules import app as rules_app
from headgate.cli.lookup.groups import find_group, find_thing
from headgate.cli.lookup.items import find_item
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.words.times import relative, size_text
from headgate.ingest.inspecting.group_covers import check_size
from headgate.ingest.inspecting.reader import opened_reader
from headgate.storage.database import Tx

app = typer.Typer(no_args_is_help=True, help="Make, change and dissolve groups of items.")
app.add_typer(rules_app, name="rules")

T = TypeVar("T")
Group = Annotated[str, typer.Argument(metavar="GROUP", help="Id of a group, or words of its name.")]
Things = Annotated[
    list[str], typer.Argument(metavar="ITEM…", help="Ids or words of titles of items, or of groups.")
]
Members = Annotated[
    list[str], typer.Argument(metavar="ITEM…", help="Ids of items, or words of their titles.")
]
Tags = Annotated[list[str] | None, typer.Option(metavar="TAG", help="Add a tag. Repeatable.")]
_NOT_IN_ANY = "Nothing changed: everything is in it already."


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the group is called.")],
    items: Things,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a group of two or more items; members of other groups move."""

    async def act(tx: Tx, context: CommandContext) -> Grouped:
        things = [await find_thing(tx, item) for item in items]
        return await editing.create_group(tx, things, name=name, ids=context.ids, now=context.clock.now())

    _say_grouped(_run(act), as_json=as_json)


@app.command()
def show(group: Group, *, as_json: AsJson = False) -> None:
    """Show a group: why it exists, and its members."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            details = await show_group(tx, await find_group(tx, group))
        if as_json:
            print_json(details)
        else:
            _print(details, context)

    with_database(look)


@app.command()
def add(group: Group, items: Things, *, as_json: AsJson = False) -> None:
    """Add items to a group; members of other groups move."""

    async def act(tx: Tx, context: CommandContext) -> Grouped:
        things = [await find_thing(tx, item) for item in items]
        return await editing.add_to_group(tx, await find_group(tx, group), things, now=context.clock.now())

    _say_grouped(_run(act), as_json=as_json)


@app.command()
def remove(group: Group, items: Members, *, as_json: AsJson = False) -> None:
    """Take items out of a group, for good."""

    async def act(tx: Tx, context: CommandContext) -> editing.Ungrouped:
        ids = [await find_item(tx, item) for item in items]
        return await editing.remove_from_group(tx, await find_group(tx, group), ids, now=context.clock.now())

    left = _run(act)
    if as_json:
        print_json(left)
        return
    dissolved = " The group had no other members and is dissolved." if left.dissolved else ""
    typer.echo(f"{count_of(left.items, 'item is', 'items are')} out of the group.{dissolved}")


@app.command()
def rename(
    group: Group,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Rename a group; new messages do not change the name any more."""

    async def act(tx: Tx, _: CommandContext) -> str:
        return await editing.rename_group(tx, await find_group(tx, group), name)

    stored = _run(act)
    if as_json:
        print_json({"name": stored})
    else:
        typer.echo(f"The group is called {stored!r}.")


@app.command()
def cover(
    group: Group,
    *,
    item: Annotated[str, typer.Option(metavar="ITEM", help="Use the picture of this member.")] = "",
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use this picture.", exists=True, dir_okay=False)
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Use the first picture among the members.")] = False,
) -> None:
    """Set the cover of a group by a member or by a file."""
    if (bool(item), file is not None, reset).count(True) != 1:
        raise UserError(
            "Use one of --item, --file and --reset.", command="headgate library group cover --help"
        )

    async def act(tx: Tx, _: CommandContext) -> None:
        group_id = await find_group(tx, group)
        if item:
            await covers.pick_cover(tx, group_id, await find_item(tx, item))
        else:
            await covers.reset_cover(tx, group_id)

    async def upload(context: CommandContext, content: bytes) -> None:
        async with context.database.transaction() as tx:
            group_id = await find_group(tx, group)
        async with (
            context.open_files() as files,
            opened_reader(files, context.settings.data.dir, clock=context.clock) as reader,
        ):
            await reader.covers.upload(context.database.transaction, group_id, content, ids=context.ids)

    if file is None:
        _run(act)
    else:
        check_size(file.stat().st_size)
        content = file.read_bytes()
        with_database(lambda context: upload(context, content))
    typer.echo("The members decide the cover again." if reset else "The group has a new cover.")


@app.command()
def merge(
    group: Group,
    others: Annotated[list[str], typer.Argument(metavar="OTHER…", help="Groups whose members move.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Move the members of other groups into one, which keeps its name and cover."""

    async def act(tx: Tx, context: CommandContext) -> Grouped:
        sources = [await find_group(tx, other) for other in others]
        return await editing.merge_groups(tx, await find_group(tx, group), sources, now=context.clock.now())

    _say_grouped(_run(act), as_json=as_json)


@app.command()
def dissolve(group: Group, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Dissolve a group; its items stay, each on its own."""

    async def work(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            details = await show_group(tx, await find_group(tx, group))
        confirm(f"Dissolve the group {details.name!r} of {count_of(len(details.members), 'item')}?", yes=yes)
        async with context.database.transaction() as tx:
            done = await editing.dissolve_group(tx, details.id, now=context.clock.now())
        if as_json:
            print_json(done)
        else:
            typer.echo(f"{done.name!r} is dissolved. `headgate library group undo {done.id}` restores it.")

    with_database(work)


@app.command()
def undo(
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Id of a group that was dissolved.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Restore a group that was dissolved; what was put into another group since stays there."""

    async def act(tx: Tx, context: CommandContext) -> Grouped:
        return await editing.restore_group(tx, await find_group(tx, group), now=context.clock.now())

    _say_grouped(_run(act), as_json=as_json)


def tag(
    items: Things,
    *,
    add: Tags = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Remove a tag; rules do not add it again. Repeatable."),
    ] = None,
    reset: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Leave a tag to the rules. Repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add or remove tags of items and of all members of groups."""
    change = LabelChange(add=tuple(add or ()), remove=tuple(remove or ()), reset=tuple(reset or ()))
    if change == LabelChange():
        raise UserError("No tag to change was named.", command="headgate library tag --help")

    async def act(tx: Tx, context: CommandContext) -> int:
        things = [await find_thing(tx, item) for item in items]
        return await editing.label_things(tx, things, change, now=context.clock.now())

    labelled = _run(act)
    if as_json:
        print_json({"items": labelled})
    else:
        typer.echo(f"The tags of {count_of(labelled, 'item')} are changed.")


def _run(act: Callable[[Tx, CommandContext], Awaitable[T]]) -> T:
    async def work(context: CommandContext) -> T:
        async with context.database.transaction() as tx:
            return await act(tx, context)

    return with_database(work)


def _say_grouped(done: Grouped, *, as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    if not done.items:
        typer.echo(_NOT_IN_ANY)
        return
    dissolved = (
        f" {count_of(len(done.dissolved), 'emptied group is', 'emptied groups are')} dissolved."
        if done.dissolved
        else ""
    )
    typer.echo(f"{count_of(done.items, 'item is', 'items are')} in {done.name!r} now ({done.id}).{dissolved}")


def _print(details: GroupDetails, context: CommandContext) -> None:
    now = context.clock.now()
    typer.echo(details.name)
    typer.echo(details.reason)
    if details.dissolved_at is not None:
        typer.echo(f"Dissolved {relative(details.dissolved_at, now)}.")
    typer.echo(
        f"Creators: {', '.join(details.creators) or 'none'}. Tags: {', '.join(details.tags) or 'none'}."
    )
    print_table(
        ("Title", "Kind", "Channel", "Size", "Sent"),
        [
            (
                member.title,
                member.kind,
                member.channel_title,
                size_text(member.size_bytes) if member.size_bytes else "",
                relative(member.sent_at, now),
            )
            for member in details.members
        ],
        numeric=("Size",),
        title="Members",
        empty="It has no members that are shown.",
    )
