"""`headgate library join|separate|retry|dismiss`: sets of volumes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar
from uuid import UUID

import typer

from headgate.catalogue.sets import dismiss_problem, join_items, separate_files
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.items import find_item
from headgate.cli.output import AsJson, print_json
from headgate.cli.phrases import count_of
from headgate.intake.channels.requests import retry_set
from headgate.storage.database import Tx

T = TypeVar("T")
ItemArgument = Annotated[str, typer.Argument(metavar="ITEM", help="Id of an item, or words of its title.")]
Items = Annotated[list[str], typer.Argument(metavar="ITEM…", help="Ids of items, or words of their titles.")]


def join(items: Items, *, as_json: AsJson = False) -> None:
    """Make one set of several items of a channel. The first one stays."""

    async def act(tx: Tx, context: CommandContext) -> UUID:
        return await join_items(tx, [await find_item(tx, item) for item in items], now=context.clock.now())

    item_id = _run(act)
    if as_json:
        print_json({"item": item_id})
    else:
        typer.echo(f"{count_of(len(items), 'item becomes', 'items become')} one set: {item_id}.")


def separate(item: ItemArgument, *, as_json: AsJson = False) -> None:
    """Make single items of the volumes of a set, for good."""

    async def act(tx: Tx, context: CommandContext) -> int:
        return await separate_files(tx, await find_item(tx, item), now=context.clock.now())

    files = _run(act)
    if as_json:
        print_json({"files": files})
    else:
        typer.echo(f"{count_of(files, 'file is', 'files are')} separated.")


def retry(item: ItemArgument) -> None:
    """Look for the missing volumes of a set again, and download what failed."""

    async def act(tx: Tx, context: CommandContext) -> None:
        await retry_set(tx, await find_item(tx, item), ids=context.ids, now=context.clock.now())

    _run(act)
    typer.echo("Headgate reads the messages around the set again, and what is new in its channel.")


def dismiss(item: ItemArgument) -> None:
    """Let a set be as incomplete as it is. A further volume brings the problem back."""

    async def act(tx: Tx, context: CommandContext) -> None:
        await dismiss_problem(tx, await find_item(tx, item), now=context.clock.now())

    _run(act)
    typer.echo("Dismissed.")


def _run(act: Callable[[Tx, CommandContext], Awaitable[T]]) -> T:
    async def work(context: CommandContext) -> T:
        async with context.database.transaction() as tx:
            return await act(tx, context)

    return with_database(work)
