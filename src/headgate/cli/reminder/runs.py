"""`headgate reminder run`, `test` and `cancel`: a reminder's runs by a person's wish."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.reminders import ReminderArgument, get_reminder
from headgate.cli.lookup.targets import get_targets
from headgate.cli.output import AsJson, Yes, confirm, print_json
from headgate.cli.phrases import count_of
from headgate.cli.reminder.outlook import confirm_outlook, preflight_of, say_outlook
from headgate.cli.run import tables as run_tables
from headgate.cli.run.progress import fail_unless_success, get_known, watch_run
from headgate.domain.errors import UserError
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.runs import UnderWay, make_run, make_test_run
from headgate.outflow.sending import controls
from headgate.storage.sending.run_overview import list_active_runs

Wait = Annotated[bool, typer.Option("--wait", help="Wait for the run to end and show its progress.")]


def run(reminder: ReminderArgument, *, wait: Wait = False, yes: Yes = False, as_json: AsJson = False) -> None:
    """Send a reminder now, whatever its schedule says, but within its delivery window."""

    async def begin(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_reminder(tx, reminder)
            outlook = await preflight_of(context).of_reminder(tx, named.id, at_once=True)
        if not as_json:
            say_outlook(outlook)
        confirm_outlook(outlook, yes=yes)
        run_id = await _make_run(context, named.id, yes=yes)
        if not as_json:
            typer.echo(f"{named.title} begins: `headgate run show {run_id}` shows how far it is.")
        await _finish(context, run_id, wait=wait, as_json=as_json)

    with_database(begin)


def test(
    reminder: ReminderArgument,
    *,
    target: Annotated[str, typer.Option(metavar="TARGET", help="Key or title of the group to send to.")],
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until it is sent.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send a reminder to one group now, ahead of everything else and at any hour."""

    async def begin(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_reminder(tx, reminder)
            platform = (await reminders.get(tx, named.id)).reminder.platform
            (target_id,) = await get_targets(tx, [target], platform=platform)
            run_id = await make_test_run(tx, named.id, target_id, ids=context.ids, now=context.clock.now())
        if not as_json:
            typer.echo(f"{named.title} is sent to {target} as a test: run {run_id}.")
        await _finish(context, run_id, wait=not no_wait, as_json=as_json)

    with_database(begin)


def cancel(reminder: ReminderArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Cancel the current run of a reminder; `pause` also stops later ones."""

    async def stop(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_reminder(tx, reminder)
            run_ids = await list_active_runs(tx, named.id)
        if not run_ids:
            raise UserError(
                f"{named.title} has no run in progress.",
                command="headgate reminder pause",
            )
        runs = "the run" if len(run_ids) == 1 else count_of(len(run_ids), "run")
        confirm(f"Groups still waiting will not get it. Cancel {runs} of {named.title}?", yes=yes)
        async with context.database.transaction() as tx:
            for run_id in run_ids:
                await controls.cancel(tx, run_id, now=context.clock.now())
        cancelled = [await get_known(context, run_id) for run_id in run_ids]
        if as_json:
            print_json([run_tables.as_line(one) for one in cancelled])
            return
        for one in cancelled:
            typer.echo(f"{one.title}: {one.summary}" if one.summary else f"{one.title} is cancelled.")

    with_database(stop)


async def _make_run(context: CommandContext, reminder_id: UUID, *, yes: bool) -> UUID:
    """Begin a run; ask first if another one is under way."""
    now = context.clock.now()
    make = partial(make_run, trigger="person", fire_at=now, now=now, ids=context.ids)
    try:
        async with context.database.transaction() as tx:
            return await make(tx, reminder_id)
    except UnderWay as error:
        confirm(f"{error.message} Send it a second time?", yes=yes)
    async with context.database.transaction() as tx:
        return await make(tx, reminder_id, beside=True)


async def _finish(context: CommandContext, run_id: UUID, *, wait: bool, as_json: bool) -> None:
    """Stay with a run if that is wished, and say how it stands; the command fails if the run did."""
    known = await (watch_run if wait else get_known)(context, run_id)
    async with context.database.transaction() as tx:
        story = await run_tables.read_story(tx, known, preflight_of(context))
    if as_json:
        print_json(run_tables.as_document(story))
    elif wait:
        typer.echo(f"{known.title}: {known.state}. {known.summary}")
    if wait:
        fail_unless_success(known)
