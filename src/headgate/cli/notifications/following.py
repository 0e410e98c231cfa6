"""The one way in which commands let a user follow something."""

from __future__ import annotations

import typer

from headgate.cli.context import Desk
from headgate.cli.notifications.follow_text import switches_in_words
from headgate.cli.output import print_json
from headgate.outflow.notifications import follows
from headgate.storage.access.users import UserLine
from headgate.storage.database import Tx
from headgate.storage.notifications.follows import Follow, Subject, Switches


async def begin_follow(tx: Tx, desk: Desk, subject: Subject, switches: Switches, who: UserLine) -> Follow:
    follow_id = await follows.follow(
        tx, subject, switches, user_id=who.id, ids=desk.ids, now=desk.clock.now()
    )
    return await follows.get(tx, follow_id, user_id=who.id)


def say_follow(made: Follow, who: UserLine, *, as_json: bool) -> None:
    if as_json:
        print_json(made)
    else:
        typer.echo(f"{who.name} hears of {_what(made)}, {switches_in_words(made)}: what is new from now on.")


def _what(made: Follow) -> str:
    if made.search is not None:
        return f"everything called {made.title!r}"
    return f"new chapters of {made.title}" if made.series_id is not None else made.title
