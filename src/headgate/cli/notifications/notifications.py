"""`headgate notifications`: what users were told, and when they do not want to be disturbed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.output import AsJson, print_json, print_table
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.reminders.windows import DAY_MINUTES, minute_text, parse_minute
from headgate.domain.words.times import relative
from headgate.outflow.notifications import inbox
from headgate.outflow.notifications.inbox import change_settings
from headgate.storage.access.users import UserLine
from headgate.storage.database import Tx
from headgate.storage.notifications.notification_settings import NotificationSettings, get_settings
from headgate.storage.notifications.notifications import Notification, NotificationCursor

app = typer.Typer(no_args_is_help=True, help="List notifications, mark them read, set quiet hours.")

_MAX = 10_000
_ENDING = 12


@app.command("list")
def list_all(
    *,
    unread: Annotated[bool, typer.Option("--unread", help="Only unread ones.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=_MAX, help="Maximum rows.")] = 50,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """List the notifications of a user, newest first."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            found = await inbox.list_page(tx, user_id=who.id, unread_only=unread, limit=limit + 1)
            left = await inbox.count_unread(tx, user_id=who.id)
        shown = found[:limit]
        if as_json:
            print_json({"unread": left.text, "notifications": shown})
            return
        _print(shown, who, unread=unread, now=context.clock.now())
        if len(found) > limit:
            typer.echo(f"… and more; --limit shows up to {_MAX:,}.")

    with_database(look)


def _print(found: Sequence[Notification], who: UserLine, *, unread: bool, now: datetime) -> None:
    nothing = f"{who.name} has no notifications yet: run `headgate series follow` to choose a series."
    print_table(
        ["id", "when", "what", "", "new"],
        [
            (
                str(one.id)[-_ENDING:],
                relative(one.at, now),
                one.title,
                one.body,
                "" if one.read_at is not None else "●",
            )
            for one in found
        ],
        empty=f"{who.name} has read everything." if unread else nothing,
    )


@app.command()
def read(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID…", help="Ids, whole or the last 12 digits.")
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All.")] = False,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Mark notifications as read: some, or all."""
    if bool(ids) == everything:
        raise UserError(
            "Which notifications?", remedy="Give their ids, or --all.", command="headgate notifications list"
        )

    async def mark(context: CommandContext) -> None:
        now = context.clock.now()
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            if everything:
                marked = await inbox.mark_all_read(tx, user_id=who.id, now=now)
            else:
                for one in await _find(tx, ids or (), who):
                    await inbox.mark_read(tx, one, user_id=who.id, now=now)
                marked = len(ids or ())
            left = await inbox.count_unread(tx, user_id=who.id)
        if as_json:
            print_json({"marked": marked, "unread": left.text})
        else:
            typer.echo(
                f"{count_of(marked, 'notification is', 'notifications are')} read; {left.text} unread."
            )

    with_database(mark)


async def _find(tx: Tx, references: Sequence[str], who: UserLine) -> list[UUID]:
    """Return the notifications of ids or of their ends."""
    wanted = [reference.lower() for reference in references]
    known: dict[str, UUID] = {}
    below: NotificationCursor | None = None
    while set(wanted) - set(known):
        page = await (
            inbox.list_page(tx, user_id=who.id, limit=_MAX)
            if below is None
            else inbox.list_page(tx, user_id=who.id, below=below, limit=_MAX)
        )
        for one in page:
            known.update({str(one.id): one.id, str(one.id)[-_ENDING:]: one.id})
        if len(page) < _MAX:
            break
        below = NotificationCursor(page[-1].at, page[-1].id)
    for reference in wanted:
        if reference not in known:
            raise UserError(
                f"{who.name} has no notification {reference!r}.",
                command="headgate notifications list",
            )
    return [known[reference] for reference in wanted]


@app.command()
def settings(
    *,
    zone: Annotated[
        str, typer.Option("--zone", metavar="ZONE", help="The user's time zone, like Europe/Berlin.")
    ] = "",
    quiet: Annotated[
        str, typer.Option("--quiet", metavar="FROM-TO", help="Quiet hours, like 22:00-07:00.")
    ] = "",
    no_quiet: Annotated[bool, typer.Option("--no-quiet", help="No quiet hours.")] = False,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Show or set a user's time zone and quiet hours; pushes wait until they end."""
    if quiet and no_quiet:
        raise UserError("--quiet and --no-quiet cannot be combined.", remedy="Use one of them.")

    async def change(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            kept = await get_settings(tx, user_id=who.id)
            wanted = _changed(kept, zone=zone, quiet=quiet, no_quiet=no_quiet)
            if wanted != kept:
                await change_settings(tx, wanted, user_id=who.id, now=context.clock.now())
        if as_json:
            print_json(wanted)
        else:
            typer.echo(f"{who.name}: {in_words(wanted)}.")

    with_database(change)


def _changed(kept: NotificationSettings, *, zone: str, quiet: str, no_quiet: bool) -> NotificationSettings:
    if zone:
        kept = replace(kept, time_zone=zone)
    if no_quiet:
        return replace(kept, quiet_from_min=None, quiet_to_min=None)
    if not quiet:
        return kept
    start, dash, end = quiet.partition("-")
    if not dash:
        raise UserError(f"{quiet!r} are not quiet hours.", remedy="Write them like 22:00-07:00.")
    return replace(
        kept, quiet_from_min=parse_minute(start) % DAY_MINUTES, quiet_to_min=parse_minute(end) % DAY_MINUTES
    )


def in_words(kept: NotificationSettings) -> str:
    """Say when a user is left in peace."""
    if kept.quiet_from_min is None or kept.quiet_to_min is None:
        return f"no quiet hours (time zone {kept.time_zone})"
    hours = f"{minute_text(kept.quiet_from_min)} to {minute_text(kept.quiet_to_min)}"
    return f"quiet from {hours} ({kept.time_zone})"
