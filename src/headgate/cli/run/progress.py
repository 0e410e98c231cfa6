"""Watching a run until it has ended."""

from __future__ import annotations

import sys
from uuid import UUID

import typer

from headgate.cli.context import CommandContext
from headgate.cli.errors import FAILED
from headgate.cli.output import console_for
from headgate.domain.errors import UserError
from headgate.kernel.clock import RealClock
from headgate.storage.sending.run_overview import RunLine, get_run

LOOK_S = 0.5
LONG_QUEUED_S = 10.0


async def watch_run(context: CommandContext, run_id: UUID) -> RunLine:
    """Look at a run until it has ended, with a bar on standard error where that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    clock = RealClock()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = Progress(
        *columns, console=console_for(sys.stderr), disable=not sys.stderr.isatty(), transient=True
    )
    warn_at_s: float | None = clock.monotonic() + LONG_QUEUED_S
    with shown as progress:
        task = progress.add_task("waiting", total=None)
        while (run := await get_known(context, run_id)).active:
            progress.update(task, description=_so_far(run), total=run.total, completed=_done(run))
            if not _waits_for_a_worker(context, run):
                warn_at_s = None
            elif warn_at_s is not None and clock.monotonic() > warn_at_s:
                warn_at_s = None
                progress.console.print(
                    "It has not started yet: is `headgate up` or `headgate worker` running?"
                    " Ctrl-C ends the waiting, not the run."
                )
            await clock.sleep(LOOK_S)
    return run


async def get_known(context: CommandContext, run_id: UUID) -> RunLine:
    """Return a run that was there a moment ago."""
    async with context.database.transaction() as tx:
        run = await get_run(tx, run_id)
    if run is None:
        raise UserError("The run no longer exists: its reminder was deleted.")
    return run


def fail_unless_success(run: RunLine) -> None:
    """End the command as failed if the run did not reach everybody."""
    if run.state != "success":
        raise typer.Exit(FAILED)


def _waits_for_a_worker(context: CommandContext, run: RunLine) -> bool:
    return run.state == "waiting" and run.started_at is None and run.opens_at <= context.clock.now()


def _done(run: RunLine) -> int:
    return run.total - run.pending - run.sending


def _so_far(run: RunLine) -> str:
    said = run.reason or run.state
    unsent = run.failed + run.skipped + run.uncertain
    return f"{said}, {unsent:,} not sent" if unsent else said
