"""`headgate reminder`: plan messages to groups, look at the plans, pause, copy and remove them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.reminders import ReminderArgument, get_reminder
from headgate.cli.output import AsJson, Yes, confirm, print_json
from headgate.cli.phrases import moment
from headgate.cli.reminder import tables as reminder_tables
from headgate.cli.reminder.outlook import preflight_of, say_outlook
from headgate.cli.reminder.part_order import PartsCommand
from headgate.cli.reminder.runs import cancel, run, test
from headgate.cli.reminder.saving import create, edit
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import draft_of
from headgate.outflow.reminders.previews import preview as preview_of
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import list_reminders

app = typer.Typer(no_args_is_help=True, help="Schedule messages to groups.")


app.command(cls=PartsCommand)(create)
app.command(cls=PartsCommand)(edit)
app.command()(run)
app.command()(test)
app.command()(cancel)


@app.command("list")
def list_all(
    *,
    state: Annotated[
        Literal["active", "paused", "archived"] | None, typer.Option(help="Only in this state.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum rows.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List reminders, newest first."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            lines = await list_reminders(tx, state=state, limit=limit)
        if as_json:
            print_json([reminder_tables.as_line(line) for line in lines])
        else:
            reminder_tables.print_reminders(lines, now=context.clock.now())

    with_database(look)


@app.command()
def show(reminder: ReminderArgument, *, as_json: AsJson = False) -> None:
    """Show a reminder with its messages, targets and schedule."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            full = await reminders.get(tx, (await get_reminder(tx, reminder)).id)
        if as_json:
            print_json(reminder_tables.as_document(full, None))
        else:
            reminder_tables.print_reminder(full, now=context.clock.now())

    with_database(look)


@app.command()
def preview(reminder: ReminderArgument, *, as_json: AsJson = False) -> None:
    """Show when a reminder is sent next, what its first groups will read, and how long it will take."""

    async def look(context: CommandContext) -> None:
        now = context.clock.now()
        async with context.database.transaction() as tx:
            full = await reminders.get(tx, (await get_reminder(tx, reminder)).id)
            shown = await preview_of(tx, draft_of(full), now=now, known=True)
            outlook = await preflight_of(context).of_draft(tx, draft_of(full)) if shown.next_sends else None
        if as_json:
            print_json({**vars(shown), "forecast": outlook})
            return
        reminder_tables.print_preview(shown, zone=full.reminder.zone, now=now)
        if outlook is not None:
            typer.echo()
            say_outlook(outlook)

    with_database(look)


@app.command()
def pause(reminder: ReminderArgument, *, as_json: AsJson = False) -> None:
    """Pause a reminder until it is resumed; a run under way continues."""

    async def change(tx: Tx, context: CommandContext, reminder_id: UUID) -> str:
        await reminders.pause(tx, reminder_id, now=context.clock.now())
        return "is paused"

    _change(reminder, change, as_json=as_json)


@app.command()
def resume(reminder: ReminderArgument, *, as_json: AsJson = False) -> None:
    """Resume a reminder; missed sends are not sent later."""

    async def change(tx: Tx, context: CommandContext, reminder_id: UUID) -> str:
        now: datetime = context.clock.now()
        due_at = await reminders.resume(tx, reminder_id, now=now)
        return f"is sent {moment(due_at, now)}"

    _change(reminder, change, as_json=as_json)


@app.command()
def duplicate(reminder: ReminderArgument, *, as_json: AsJson = False) -> None:
    """Make a copy of a reminder; the copy is paused."""

    async def copy(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_reminder(tx, reminder)
            new_id = await reminders.duplicate(tx, named.id, ids=context.ids, now=context.clock.now())
            full = await reminders.get(tx, new_id)
        if as_json:
            print_json(reminder_tables.as_document(full, None))
        else:
            typer.echo(f"{full.reminder.title} is paused; `headgate reminder resume {new_id}` resumes it.")

    with_database(copy)


@app.command()
def archive(
    reminder: ReminderArgument,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Restore it, paused.")] = False,
    as_json: AsJson = False,
) -> None:
    """Archive a reminder with its history; it is not sent any more."""

    async def change(tx: Tx, context: CommandContext, reminder_id: UUID) -> str:
        turn = reminders.unarchive if undo else reminders.archive
        await turn(tx, reminder_id, now=context.clock.now())
        return "is out of the archive" if undo else "is archived"

    _change(reminder, change, as_json=as_json)


@app.command()
def delete(reminder: ReminderArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a reminder with its history; `archive` keeps both."""

    async def remove(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_reminder(tx, reminder)
        confirm(f"Delete {named.title} with the history of its runs?", yes=yes)
        async with context.database.transaction() as tx:
            await reminders.delete(tx, named.id)
        if as_json:
            print_json(named)
        else:
            typer.echo(f"{named.title} is deleted.")

    with_database(remove)


def _change(
    reference: str, change: Callable[[Tx, CommandContext, UUID], Awaitable[str]], *, as_json: bool
) -> None:
    """Change the state of a reminder, and say what it is now."""

    async def work(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_reminder(tx, reference)
            said = await change(tx, context, named.id)
            full = await reminders.get(tx, named.id)
        if as_json:
            print_json(reminder_tables.as_document(full, None))
        else:
            typer.echo(f"{named.title} {said}.")

    with_database(work)
