"""How far a user has read a series."""

from __future__ import annotations

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.series import (
    ChapterArgument,
    SeriesArgument,
    get_named_series,
)
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.output import AsJson, print_json
from headgate.cli.phrases import count_of
from headgate.cli.series.tables import chapter_name
from headgate.intake.listings.series import get_chapter, get_series
from headgate.outflow.notifications import reading


def read(
    series: SeriesArgument, chapter: ChapterArgument, *, user: UserOption = "", as_json: AsJson = False
) -> None:
    """Mark a chapter and all before it as read."""
    _mark(series, chapter, user, is_read=True, as_json=as_json)


def unread(
    series: SeriesArgument, chapter: ChapterArgument, *, user: UserOption = "", as_json: AsJson = False
) -> None:
    """Mark a chapter and all after it as unread."""
    _mark(series, chapter, user, is_read=False, as_json=as_json)


def _mark(series: str, chapter: str, user: str, *, is_read: bool, as_json: bool) -> None:
    turn = reading.mark_read_up_to if is_read else reading.mark_unread_from

    async def mark(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_named_series(tx, series)
            who = await get_user(tx, user)
            whole = await get_series(tx, named.id, user_id=who.id)
            meant = await get_chapter(tx, whole, chapter)
            await turn(tx, meant.id, user_id=who.id, now=context.clock.now())
            left = (await reading.count_unread(tx, [named.id], user_id=who.id)).get(named.id, 0)
        name = chapter_name(meant) or meant.title or "this one"
        if as_json:
            print_json({"series_id": named.id, "chapter_id": meant.id, "unread": left})
            return
        said = f"read up to {name}" if is_read else f"unread from {name} on"
        typer.echo(f"{named.title} is {said}; {count_of(left, 'chapter')} left for {who.name}.")

    with_database(mark)
