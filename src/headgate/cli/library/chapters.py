"""`headgate library chapters`: the newest chapters of the series that a user follows."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.words.times import relative
from headgate.storage.listings.followed_chapters import list_newest


def chapters(
    *,
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum rows.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List new chapters of the series that a user follows."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            found = await list_newest(tx, (await get_user(tx, user)).id, limit=limit)
        if as_json:
            print_json({"chapters": found})
            return
        now = context.clock.now()
        print_table(
            ("Chapter", "Series", "Source", "Found"),
            [
                (one.number or one.title, one.series_title, one.source, relative(one.seen_at, now))
                for one in found
            ],
            empty="There are no chapters of followed series yet.",
        )

    with_database(look)
