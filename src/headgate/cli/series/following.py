"""What one user has to do with a series: hearing of it, and how far it is read."""

from __future__ import annotations

import typer

from headgate.cli.context import Desk, at_desk
from headgate.cli.lookup.series import (
    ChapterArgument,
    SeriesArgument,
    get_chapter,
    get_named_series,
)
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.notifications.follow_text import (
    LanguagesOption,
    NoInApp,
    NoPush,
    PerOption,
    switches_of,
)
from headgate.cli.notifications.following import begin_follow, say_follow
from headgate.cli.output import AsJson, print_json
from headgate.cli.phrases import count_of
from headgate.cli.series.tables import chapter_name
from headgate.domain.errors import UserError
from headgate.intake.listings.series import get_series
from headgate.outflow.notifications import follows, reading
from headgate.storage.notifications.follows import Subject


def follow(
    series: SeriesArgument,
    *,
    user: UserOption = "",
    no_in_app: NoInApp = False,
    no_push: NoPush = False,
    per: PerOption = "chapter",
    language: LanguagesOption = None,
    as_json: AsJson = False,
) -> None:
    """Let a user hear of new chapters; following again changes how."""
    switches = switches_of(no_in_app=no_in_app, no_push=no_push, per=per, languages=language)

    async def begin(desk: Desk) -> None:
        async with desk.database.transaction() as tx:
            named = await get_named_series(tx, series)
            who = await get_user(tx, user)
            made = await begin_follow(tx, desk, Subject(series_id=named.id), switches, who)
        say_follow(made, who, as_json=as_json)

    at_desk(begin)


def unfollow(series: SeriesArgument, *, user: UserOption = "", as_json: AsJson = False) -> None:
    """Let a user hear of a series no more; what was told stays in the list."""

    async def end(desk: Desk) -> None:
        async with desk.database.transaction() as tx:
            named = await get_named_series(tx, series)
            who = await get_user(tx, user)
            known = await follows.find(tx, Subject(series_id=named.id), user_id=who.id)
            if known is None:
                raise UserError(
                    f"{who.name} does not follow {named.title}.",
                    command="headgate follow list",
                )
            await follows.unfollow(tx, known.id, user_id=who.id)
        if as_json:
            print_json(known)
        else:
            typer.echo(f"{who.name} hears of {named.title} no more.")

    at_desk(end)


def read(
    series: SeriesArgument, chapter: ChapterArgument, *, user: UserOption = "", as_json: AsJson = False
) -> None:
    """Note that a user has read a chapter and all before it."""
    _mark(series, chapter, user, is_read=True, as_json=as_json)


def unread(
    series: SeriesArgument, chapter: ChapterArgument, *, user: UserOption = "", as_json: AsJson = False
) -> None:
    """Note that a user has not read a chapter, nor what comes after it."""
    _mark(series, chapter, user, is_read=False, as_json=as_json)


def _mark(series: str, chapter: str, user: str, *, is_read: bool, as_json: bool) -> None:
    turn = reading.mark_read_up_to if is_read else reading.mark_unread_from

    async def mark(desk: Desk) -> None:
        async with desk.database.transaction() as tx:
            named = await get_named_series(tx, series)
            who = await get_user(tx, user)
            whole = await get_series(tx, named.id, user_id=who.id)
            meant = await get_chapter(tx, whole, chapter)
            await turn(tx, meant.id, user_id=who.id, now=desk.clock.now())
            left = (await reading.count_unread(tx, [named.id], user_id=who.id)).get(named.id, 0)
        name = chapter_name(meant) or meant.title or "this one"
        if as_json:
            print_json({"series_id": named.id, "chapter_id": meant.id, "unread": left})
            return
        said = f"read up to {name}" if is_read else f"unread from {name} on"
        typer.echo(f"{named.title} is {said}; {count_of(left, 'chapter')} left for {who.name}.")

    at_desk(mark)
