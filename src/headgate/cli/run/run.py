"""`headgate run`: list runs; pause, resume, cancel and retry them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, get_args

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import AccountArgument, get_account
from headgate.cli.lookup.reminders import get_reminder
from headgate.cli.lookup.runs import RunArgument, get_named_run
from headgate.cli.output import AsJson, Yes, confirm, print_json
from headgate.cli.phrases import count_of
from headgate.cli.reminder.outlook import preflight_of, say_outlook
from headgate.cli.run import tables as run_tables
from headgate.cli.run.progress import get_known, watch_run
from headgate.domain.errors import UserError
from headgate.domain.reminders.run_results import DeliveryState, RunState
from headgate.outflow.reminders.runs import make_remainder_run
from headgate.outflow.sending import controls
from headgate.storage.database import Tx
from headgate.storage.sending.run_overview import (
    ACTIVE_STATES,
    RunCursor,
    RunLine,
    list_deliveries,
    list_runs,
)

app = typer.Typer(no_args_is_help=True, help="Show runs of reminders; pause, resume, cancel, retry them.")

Limit = Annotated[int, typer.Option(min=1, max=100_000, help="Maximum rows.")]
Change = Callable[[Tx, CommandContext, RunLine], Awaitable[str]]
"""Changes a run and returns what it is now."""


@app.command("list")
def list_all(
    *,
    reminder: Annotated[str, typer.Option(metavar="REMINDER", help="Only this reminder: title or id.")] = "",
    account: Annotated[str, typer.Option(metavar="ACCOUNT", help="Only this account.")] = "",
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="Only in this state; repeatable.")
    ] = None,
    active: Annotated[bool, typer.Option("--active", help="Only unfinished runs.")] = False,
    limit: Limit = 50,
    below: Annotated[str, typer.Option(metavar="RUN", help="Only older than this one (next page).")] = "",
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    if active and state:
        raise UserError("--active and --state cannot be combined.", remedy="Use one of them.")
    states: list[RunState] = [_state(one) for one in state or ()]

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            last = await get_named_run(tx, below) if below else None
            runs = await list_runs(
                tx,
                reminder_id=(await get_reminder(tx, reminder)).id if reminder else None,
                account_id=(await get_account(tx, account)).id if account else None,
                states=ACTIVE_STATES if active else states or None,
                below=None if last is None else RunCursor(last.created_at, last.id),
                limit=limit,
            )
        if as_json:
            print_json([run_tables.as_line(run) for run in runs])
        else:
            run_tables.print_runs(runs, now=context.clock.now())

    with_database(look)


def _state(typed: str) -> RunState:
    for state in get_args(RunState):
        if typed == state:
            return state
    known = ", ".join(get_args(RunState))
    raise UserError(f"There is no state {typed!r}.", remedy=f"Use one of {known}.")


@app.command()
def show(
    run: RunArgument,
    *,
    watch: Annotated[
        bool | None,
        typer.Option(
            "--watch/--no-watch", help="Wait until it ends; the default in a terminal while it is being sent."
        ),
    ] = None,
    deliveries: Annotated[bool, typer.Option("--deliveries", help="List the result of each group.")] = False,
    state: Annotated[
        DeliveryState | None,
        typer.Option(
            metavar="STATE", help=f"Only deliveries in this state: {', '.join(get_args(DeliveryState))}."
        ),
    ] = None,
    after: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Only deliveries after this one.")] = 0,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """Show the progress and result of a run."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_named_run(tx, run)
        if known.active if watch else watch is None and _moves(context, known):
            known = await watch_run(context, known.id)
        async with context.database.transaction() as tx:
            story = await run_tables.read_story(tx, known, preflight_of(context))
            lines = None
            if deliveries or state is not None:
                lines = await list_deliveries(tx, known.id, state=state, after=after, limit=limit)
        if as_json:
            print_json(run_tables.as_document(story, lines))
            return
        run_tables.print_run(story, now=context.clock.now())
        if lines is not None:
            typer.echo()
            run_tables.print_deliveries(lines)

    with_database(look)


def _moves(context: CommandContext, run: RunLine) -> bool:
    """Tell whether there is something to watch, and somebody who does."""
    if run.state not in {"waiting", "running"} or run.opens_at > context.clock.now():
        return False
    return sys.stdout.isatty()


@app.command()
def pause(run: RunArgument, *, as_json: AsJson = False) -> None:
    """Pause a run; its delivery window still closes on time."""

    async def change(tx: Tx, context: CommandContext, known: RunLine) -> str:
        del context
        await controls.pause(tx, known.id)
        return "is paused"

    _change(run, change, as_json=as_json)


@app.command()
def resume(run: RunArgument, *, as_json: AsJson = False) -> None:
    """Resume a paused run where it stopped."""

    async def change(tx: Tx, context: CommandContext, known: RunLine) -> str:
        await controls.resume(tx, known.id, now=context.clock.now())
        return "continues"

    _change(run, change, as_json=as_json)


@app.command()
def cancel(run: RunArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Cancel a run; messages already on their way still arrive."""

    async def change(tx: Tx, context: CommandContext, known: RunLine) -> str:
        await controls.cancel(tx, known.id, now=context.clock.now())
        return "is cancelled"

    _change(
        run, change, question="Cancel {title}? {left} of {total} would get nothing.", yes=yes, as_json=as_json
    )


@app.command()
def retry(
    run: RunArgument,
    *,
    skipped: Annotated[bool, typer.Option("--skipped", help="Also retry what was skipped.")] = False,
    uncertain: Annotated[
        bool, typer.Option("--uncertain", help="Also what may have arrived; it may arrive twice.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Retry what failed in a finished run; what was sent is not sent again."""

    async def change(tx: Tx, context: CommandContext, known: RunLine) -> str:
        now = context.clock.now()
        taken = await controls.retry(tx, known.id, skipped=skipped, uncertain=uncertain, now=now)
        return f"continues with {count_of(taken, 'group')}"

    question = "What is uncertain in {title} may arrive twice. Send it again?" if uncertain else ""
    _change(run, change, question=question, yes=yes, as_json=as_json)


@app.command()
def resolve(
    run: RunArgument,
    delivery: Annotated[int, typer.Argument(min=1, metavar="NUMBER", help="Number of the delivery.")],
    *,
    arrived: Annotated[
        bool | None,
        typer.Option("--arrived/--again", help="The message arrived, or must be sent again."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide about a message that may or may not have been sent."""
    if arrived is None:
        raise UserError(
            "Is the message in the group?",
            remedy="Check the group, then use --arrived, or --again to send it.",
        )

    async def change(tx: Tx, context: CommandContext, known: RunLine) -> str:
        await controls.resolve(tx, known.id, delivery, arrived=arrived, now=context.clock.now())
        return "counts it as arrived" if arrived else "sends it again"

    _change(run, change, as_json=as_json)


@app.command("send-rest")
def send_rest(
    run: RunArgument,
    account: AccountArgument,
    *,
    include_uncertain: Annotated[
        bool, typer.Option("--include-uncertain", help="Also what may have arrived; it may arrive twice.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Send the rest of a run from another account."""

    async def send(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_named_run(tx, run)
            other = await get_account(tx, account)
        if include_uncertain and known.uncertain:
            confirm(f"{count_of(known.uncertain, 'group')} may get it twice. Send it all the same?", yes=yes)
        async with context.database.transaction() as tx:
            new_id = await make_remainder_run(
                tx,
                known.id,
                other.id,
                include_uncertain=include_uncertain,
                ids=context.ids,
                now=context.clock.now(),
            )
        rest = await get_known(context, new_id)
        async with context.database.transaction() as tx:
            story = await run_tables.read_story(tx, rest, preflight_of(context))
        if as_json:
            print_json(run_tables.as_document(story))
            return
        typer.echo(
            f"{other.name} sends the rest of {known.title} to {count_of(rest.total, 'group')}: run {new_id}."
        )
        if story.outlook is not None:
            say_outlook(story.outlook)

    with_database(send)


def _change(reference: str, change: Change, *, as_json: bool, question: str = "", yes: bool = False) -> None:
    """Change a run, asking first if there is a question, and say what it is now."""

    async def work(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_named_run(tx, reference)
        if question:
            left = count_of(known.pending + known.sending, "group")
            confirm(question.format(title=known.title, left=left, total=f"{known.total:,}"), yes=yes)
        async with context.database.transaction() as tx:
            said = await change(tx, context, known)
        changed = await get_known(context, known.id)
        if as_json:
            async with context.database.transaction() as tx:
                print_json(
                    run_tables.as_document(await run_tables.read_story(tx, changed, preflight_of(context)))
                )
        elif changed.state == known.state or changed.active:
            reason = f": it {changed.reason}" if changed.state == "waiting" else ""
            typer.echo(f"{known.title} {said}{reason}.")
        else:
            typer.echo(f"{known.title}: {changed.summary}" if changed.summary else f"{known.title} {said}.")

    with_database(work)
