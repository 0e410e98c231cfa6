"""`headgate library views`: saved filters and sorts of the library, each user's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from headgate.catalogue.shelf import views
from headgate.catalogue.shelf.listing import describe_view
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.lookup.views import find_view
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table
from headgate.domain.library.shelf_filters import parse_view
from headgate.domain.words.shelf_words import sort_text
from headgate.storage.access.users import UserLine
from headgate.storage.database import Tx
from headgate.storage.shelf.views import SavedView

app = typer.Typer(no_args_is_help=True, help="Save filters and sorts of the library under a name.")

ViewArgument = Annotated[str, typer.Argument(metavar="VIEW", help="Name or id of a view.")]
QueryArgument = Annotated[
    str,
    typer.Argument(
        metavar="QUERY", help="As in the address of the library, or `query` of `library list --json`."
    ),
]


@app.command("list")
def list_all(*, user: UserOption = "", as_json: AsJson = False) -> None:
    """List a user's views; the library begins with the default one."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            found = await views.list_views(tx, user_id=who.id)
            shown = [(view, await _describe(tx, view)) for view in found]
        if as_json:
            print_json({"views": found})
            return
        print_table(
            ("Name", "Shows", "Default"),
            [(view.name, text, "default" if view.is_default else "") for view, text in shown],
            empty=f"{who.name} has no views yet: `headgate library views save`.",
        )

    with_database(look)


@app.command()
def save(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the view.")],
    query: QueryArgument,
    *,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Save a view under a new name."""

    async def change(context: CommandContext, tx: Tx, who: UserLine) -> SavedView:
        return await views.save_view(
            tx, name=name, query=query, user_id=who.id, ids=context.ids, now=context.clock.now()
        )

    _change(change, "Saved", user=user, as_json=as_json)


@app.command()
def rename(
    view: ViewArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    *,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Rename a view."""

    async def change(_context: CommandContext, tx: Tx, who: UserLine) -> SavedView:
        return await views.rename_view(tx, (await _find(tx, view, who)).id, name=name, user_id=who.id)

    _change(change, "Renamed to", user=user, as_json=as_json)


@app.command()
def replace(
    view: ViewArgument, query: QueryArgument, *, user: UserOption = "", as_json: AsJson = False
) -> None:
    """Let a view show something else."""

    async def change(_context: CommandContext, tx: Tx, who: UserLine) -> SavedView:
        return await views.replace_view(tx, (await _find(tx, view, who)).id, query=query, user_id=who.id)

    _change(change, "Replaced", user=user, as_json=as_json)


@app.command()
def default(
    view: ViewArgument,
    *,
    off: Annotated[bool, typer.Option("--off", help="Let the library begin with everything.")] = False,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Let the library begin with a view."""

    async def change(_context: CommandContext, tx: Tx, who: UserLine) -> SavedView:
        meant = await _find(tx, view, who)
        return await views.set_default_view(tx, meant.id, user_id=who.id, is_default=not off)

    _change(change, "No longer the default:" if off else "The default is", user=user, as_json=as_json)


@app.command()
def delete(view: ViewArgument, *, yes: Yes = False, user: UserOption = "", as_json: AsJson = False) -> None:
    """Delete a view; what it shows stays."""
    confirm(f"Delete the view {view!r}?", yes=yes)

    async def change(_context: CommandContext, tx: Tx, who: UserLine) -> SavedView:
        return await views.delete_view(tx, (await _find(tx, view, who)).id, user_id=who.id)

    _change(change, "Deleted", user=user, as_json=as_json)


def _change(
    change: Callable[[CommandContext, Tx, UserLine], Awaitable[SavedView]],
    said: str,
    *,
    user: str,
    as_json: bool,
) -> None:
    async def work(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            changed = await change(context, tx, await get_user(tx, user))
        if as_json:
            print_json(changed)
        else:
            typer.echo(f"{said} {changed.name}.")

    with_database(work)


async def _find(tx: Tx, reference: str, who: UserLine) -> SavedView:
    return find_view(await views.list_views(tx, user_id=who.id), reference, who)


async def _describe(tx: Tx, view: SavedView) -> str:
    wanted = parse_view(view.query)
    chips = [chip.label for chip in await describe_view(tx, wanted)]
    words = [f"“{wanted.search}”"] if wanted.search else []
    return f"{', '.join([*words, *chips]) or 'Everything'}; {sort_text(wanted.sort).lower()} first"
