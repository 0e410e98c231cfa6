"""`headgate follow`: what users want to hear of."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.cli.context import Desk, at_desk
from headgate.cli.lookup.channels import ChannelArgument, get_channel, nearest
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.notifications.follow_text import (
    LanguagesOption,
    NoInApp,
    NoPush,
    PerOption,
    kind_of,
    switches_in_words,
    switches_of,
)
from headgate.cli.notifications.following import begin_follow, say_follow
from headgate.cli.output import AsJson, print_json, print_table
from headgate.cli.series.following import follow as follow_series
from headgate.domain.errors import UserError
from headgate.domain.words.times import relative
from headgate.outflow.notifications import follows
from headgate.storage.access.users import UserLine
from headgate.storage.notifications.follows import Follow, Subject

app = typer.Typer(no_args_is_help=True, help="Say what a user wants to hear of: series, channels, searches.")

app.command("series")(follow_series)


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
    """Let a user hear of what is new in a channel or a feed."""
    switches = switches_of(no_in_app=no_in_app, no_push=no_push, per="chapter", languages=language)

    async def begin(desk: Desk) -> None:
        async with desk.database.transaction() as tx:
            named = await get_channel(tx, channel, with_listings=True)
            who = await get_user(tx, user)
            made = await begin_follow(tx, desk, Subject(channel_id=named.id), switches, who)
        say_follow(made, who, as_json=as_json)

    at_desk(begin)


@app.command()
def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORD…", help="Words that a title must hold, all of them.")
    ],
    *,
    user: UserOption = "",
    no_in_app: NoInApp = False,
    no_push: NoPush = False,
    per: PerOption = "chapter",
    language: LanguagesOption = None,
    as_json: AsJson = False,
) -> None:
    """Let a user hear of everything new whose title holds these words, wherever it comes from."""
    switches = switches_of(no_in_app=no_in_app, no_push=no_push, per=per, languages=language)

    async def begin(desk: Desk) -> None:
        async with desk.database.transaction() as tx:
            who = await get_user(tx, user)
            made = await begin_follow(tx, desk, Subject(search=" ".join(words)), switches, who)
        say_follow(made, who, as_json=as_json)

    at_desk(begin)


@app.command("list")
def list_all(*, user: UserOption = "", as_json: AsJson = False) -> None:
    """List what a user follows."""

    async def look(desk: Desk) -> None:
        async with desk.database.transaction() as tx:
            who = await get_user(tx, user)
            found = await follows.list_all(tx, user_id=who.id)
        if as_json:
            print_json(found)
            return
        print_table(
            ["what", "kind", "told", "since"],
            [
                (one.title, kind_of(one), switches_in_words(one), relative(one.since, desk.clock.now()))
                for one in found
            ],
            empty=f"{who.name} follows nothing yet: `headgate series follow`, or `headgate follow --help`.",
        )

    at_desk(look)


@app.command()
def remove(
    follow: Annotated[
        str, typer.Argument(metavar="FOLLOW", help="What is followed: its title, the words, or the id.")
    ],
    *,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Let a user hear of something no more; what was told stays in the list."""

    async def end(desk: Desk) -> None:
        async with desk.database.transaction() as tx:
            who = await get_user(tx, user)
            meant = _meant(await follows.list_all(tx, user_id=who.id), follow, who)
            await follows.unfollow(tx, meant.id, user_id=who.id)
        if as_json:
            print_json(meant)
        else:
            typer.echo(f"{who.name} hears of {meant.title} no more.")

    at_desk(end)


def _meant(listed: list[Follow], reference: str, who: UserLine) -> Follow:
    typed = reference.lower()
    found = [one for one in listed if typed in {str(one.id), str(one.id)[-12:], one.title.lower()}]
    if len(found) == 1:
        return found[0]
    if found:
        ids = "; ".join(f"{one.id} ({kind_of(one)})" for one in found[:5])
        raise UserError(
            f"{who.name} follows {len(found)} things called {reference!r}.",
            remedy=f"Take the id of one: {ids}.",
        )
    near = nearest(reference, [one.title for one in listed])
    meant = f"Did you mean {near}? " if near else ""
    raise UserError(
        f"{who.name} does not follow {reference!r}.", remedy=meant, command="headgate follow list"
    )
