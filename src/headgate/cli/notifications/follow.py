"""`headgate follow`: what users want to hear of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import ChannelArgument, get_channel, nearest
from headgate.cli.lookup.series import SeriesArgument, get_named_series
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.errors import NotFound, UserError
from headgate.domain.words.times import relative
from headgate.outflow.notifications import follows
from headgate.storage.access.users import UserLine
from headgate.storage.database import Tx
from headgate.storage.notifications.follows import Follow, Per, Subject, Switches

app = typer.Typer(no_args_is_help=True, help="Choose what a user is notified of: series, channels, searches.")

NoInApp = Annotated[bool, typer.Option("--no-in-app", help="Do not show it on the notifications page.")]
NoPush = Annotated[bool, typer.Option("--no-push", help="Do not push it.")]
PerOption = Annotated[
    Per,
    typer.Option("--per", help="Notify once per chapter, or once per source."),
]
LanguagesOption = Annotated[
    list[str] | None,
    typer.Option("--language", metavar="TAG", help="Only in this language (en, pt-br). Repeatable."),
]


@app.command("series")
def follow_series(
    series: SeriesArgument,
    *,
    user: UserOption = "",
    no_in_app: NoInApp = False,
    no_push: NoPush = False,
    per: PerOption = "chapter",
    language: LanguagesOption = None,
    as_json: AsJson = False,
) -> None:
    """Notify a user of new chapters; run again to change how."""

    async def find(tx: Tx) -> Subject:
        return Subject(series_id=(await get_named_series(tx, series)).id)

    _follow(find, _switches(no_in_app, no_push, per, language), user, as_json=as_json)


def unfollow_series(series: SeriesArgument, *, user: UserOption = "", as_json: AsJson = False) -> None:
    """Stop notifying a user of a series; past notifications stay."""

    async def end(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_named_series(tx, series)
            who = await get_user(tx, user)
            try:
                ended = await follows.unfollow_subject(tx, Subject(series_id=named.id), user_id=who.id)
            except NotFound as error:
                raise UserError(
                    f"{who.name} does not follow {named.title}.", command="headgate follow list"
                ) from error
        _say_ended(ended, who, as_json=as_json)

    with_database(end)


@app.command()
def channel(
    channel: ChannelArgument,
    *,
    user: UserOption = "",
    no_in_app: NoInApp = False,
    no_push: NoPush = False,
    language: LanguagesOption = None,
    as_json: AsJson = False,
) -> None:
    """Notify a user of what is new in a channel or a feed."""

    async def find(tx: Tx) -> Subject:
        return Subject(channel_id=(await get_channel(tx, channel, with_listings=True)).id)

    _follow(find, _switches(no_in_app, no_push, "chapter", language), user, as_json=as_json)


@app.command()
def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORD…", help="Words that the title must contain, all of them.")
    ],
    *,
    user: UserOption = "",
    no_in_app: NoInApp = False,
    no_push: NoPush = False,
    per: PerOption = "chapter",
    language: LanguagesOption = None,
    as_json: AsJson = False,
) -> None:
    """Notify a user of everything new with these words in its title."""

    async def find(_tx: Tx) -> Subject:
        return Subject(search=" ".join(words))

    _follow(find, _switches(no_in_app, no_push, per, language), user, as_json=as_json)


def _follow(
    find: Callable[[Tx], Awaitable[Subject]], switches: Switches, user: str, *, as_json: bool
) -> None:
    async def begin(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            subject = await find(tx)
            who = await get_user(tx, user)
            made = await follows.follow(
                tx, subject, switches, user_id=who.id, ids=context.ids, now=context.clock.now()
            )
        if as_json:
            print_json(made)
        else:
            how = switches_in_words(made)
            typer.echo(f"{who.name} is notified of {_what(made)}, {how}.")

    with_database(begin)


def _what(made: Follow) -> str:
    if made.search is not None:
        return f"everything called {made.title!r}"
    return f"new chapters of {made.title}" if made.series_id is not None else made.title


@app.command("list")
def list_all(*, user: UserOption = "", as_json: AsJson = False) -> None:
    """List what a user follows."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            found = await follows.list_all(tx, user_id=who.id)
        if as_json:
            print_json(found)
            return
        print_table(
            ["what", "kind", "notify", "since"],
            [
                (one.title, kind_of(one), switches_in_words(one), relative(one.since, context.clock.now()))
                for one in found
            ],
            empty=f"{who.name} follows nothing yet: `headgate series follow`, or `headgate follow --help`.",
        )

    with_database(look)


@app.command()
def remove(
    follow: Annotated[
        str, typer.Argument(metavar="FOLLOW", help="Title, search words, or id of the follow.")
    ],
    *,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Stop notifying a user; past notifications stay."""

    async def end(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            meant = _meant(await follows.list_all(tx, user_id=who.id), follow, who)
            await follows.unfollow(tx, meant.id, user_id=who.id)
        _say_ended(meant, who, as_json=as_json)

    with_database(end)


def _say_ended(ended: Follow, who: UserLine, *, as_json: bool) -> None:
    if as_json:
        print_json(ended)
    else:
        typer.echo(f"{who.name} is no longer notified of {ended.title}.")


def _meant(listed: list[Follow], reference: str, who: UserLine) -> Follow:
    typed = reference.lower()
    found = [one for one in listed if typed in {str(one.id), str(one.id)[-12:], one.title.lower()}]
    if len(found) == 1:
        return found[0]
    if found:
        ids = "; ".join(f"{one.id} ({kind_of(one)})" for one in found[:5])
        raise UserError(
            f"{who.name} follows {len(found)} things called {reference!r}.",
            remedy=f"Use the id of one: {ids}.",
        )
    near = nearest(reference, [one.title for one in listed])
    meant = f"Did you mean {near}? " if near else ""
    raise UserError(
        f"{who.name} does not follow {reference!r}.", remedy=meant, command="headgate follow list"
    )


def _switches(no_in_app: bool, no_push: bool, per: Per, languages: Sequence[str] | None) -> Switches:
    return Switches(not no_in_app, not no_push, per, tuple(languages or ()))


def kind_of(follow: Follow) -> str:
    if follow.search is not None:
        return "search"
    return "series" if follow.series_id is not None else "channel"


def switches_in_words(follow: Follow) -> str:
    """Say how somebody hears of what they follow."""
    ways = " and ".join([*(["in the list"] if follow.in_app else []), *(["by push"] if follow.push else [])])
    per = "" if follow.per == "chapter" else ", once a source"
    languages = f", only in {', '.join(follow.languages)}" if follow.languages else ""
    return f"{ways}{per}{languages}"
