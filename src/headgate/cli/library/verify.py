"""`headgate library verify`: compare what the library shows with what it has."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue.shelf.verify import verify_library
from headgate.cli.context import CommandContext, with_database
from headgate.cli.errors import FAILED
from headgate.cli.output import AsJson, print_json, share_bar
from headgate.storage.shelf.verify import VerifiedShelf


def verify(
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Rewrite the rows that are wrong.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check that the library shows exactly what Headgate has.

    Headgate may run meanwhile. Exits with 1 if rows are wrong and were not repaired.
    """

    async def work(context: CommandContext) -> VerifiedShelf:
        with share_bar("Checking") as show:
            return await verify_library(
                context.database,
                repair=repair,
                on_progress=lambda done, total: show(done / max(total, 1), f"{done:,} of {total:,} items"),
            )

    found = with_database(work)
    if as_json:
        print_json(found)
    elif found.sound:
        typer.echo(f"Checked {found.items:,} items: everything is shown as it is.")
    else:
        wrong = found.wrong_rows + found.wrong_facets
        remedy = "Repaired." if repair else "Repair it with: headgate library verify --repair"
        typer.echo(f"Checked {found.items:,} items: {wrong:,} rows are wrong. {remedy}")
    if not (found.sound or repair):
        raise typer.Exit(FAILED)
