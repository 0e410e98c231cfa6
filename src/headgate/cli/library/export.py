"""`headgate library export`: copy stored files out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.items import find_item
from headgate.cli.output import AsJson, bytes_bar, print_json
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.words.times import size_text
from headgate.ingest.serving.downloads import list_stored
from headgate.ingest.serving.export import Exported, export_files


def export(
    reference: Annotated[str, typer.Argument(metavar="ITEM", help="Id of an item, or words of its title.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to copy the files to.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Copy the stored files of an item into a folder.

    Nothing is overwritten. Run it again to continue after an interruption.
    """

    async def copy(context: CommandContext) -> Exported:
        async with context.database.transaction() as tx:
            item_id = await find_item(tx, reference)
            files = await list_stored(tx, item_id)
        if not files:
            raise UserError("Nothing of this item is stored.", command=f"headgate library show {item_id}")
        async with context.open_files() as stored:
            with bytes_bar("Copying") as show:
                return await export_files(stored.store, files, folder.expanduser().absolute(), show=show)

    exported = with_database(copy)
    if as_json:
        print_json(exported)
        return
    typer.echo(
        f"{count_of(len(exported.written), 'file')} copied to {exported.folder}"
        f" ({size_text(exported.written_bytes)})."
    )
    if exported.already_there:
        typer.echo(f"{count_of(len(exported.already_there), 'file')} already there.")
