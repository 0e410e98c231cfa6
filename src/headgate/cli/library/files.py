"""`headgate library fetch|drop|remove`: files of items, for one or many."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue.files import drop_items, fetch_items, remove_items
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.items import find_item
from headgate.cli.output import AsJson, Yes, confirm, print_json
from headgate.cli.phrases import count_of
from headgate.domain.words.file_words import freed_text
from headgate.storage.library.removals import Freed

Items = Annotated[list[str], typer.Argument(metavar="ITEM…", help="Ids of items, or words of their titles.")]


def fetch(items: Items, *, as_json: AsJson = False) -> None:
    """Download the files of items now, whatever the settings say."""

    async def ask(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            ids = [await find_item(tx, item) for item in items]
            files = await fetch_items(tx, ids, now=context.clock.now())
        if as_json:
            print_json({"items": len(set(ids)), "files": files})
        elif files:
            typer.echo(f"{count_of(files, 'file is', 'files are')} downloaded next.")
        else:
            typer.echo("All files are stored already.")

    with_database(ask)


def drop(items: Items, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete the stored files of items; the items stay listed and can be fetched again."""

    async def work(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            ids = [await find_item(tx, item) for item in items]
        confirm(f"Delete the stored files of {count_of(len(set(ids)), 'item')}?", yes=yes)
        async with context.database.transaction() as tx:
            freed = await drop_items(tx, ids, now=context.clock.now())
        _say(freed, "The items stay listed.", as_json=as_json)

    with_database(work)


def remove(items: Items, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove items and their stored files for ever; the same content does not come back."""

    async def work(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            ids = [await find_item(tx, item) for item in items]
        confirm(f"Remove {count_of(len(set(ids)), 'item')} for ever?", yes=yes)
        async with context.database.transaction() as tx:
            freed = await remove_items(tx, ids, now=context.clock.now())
        _say(freed, f"{count_of(freed.items, 'item is', 'items are')} removed.", as_json=as_json)

    with_database(work)


def _say(freed: Freed, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(freed)
        return
    stored = count_of(freed.files, "stored file is", "stored files are")
    typer.echo(f"{sentence} {stored} deleted. {freed_text(freed.bytes)}")
