"""Watching a scan until it has ended."""

from __future__ import annotations

import sys
from uuid import UUID

import typer

from headgate.cli.context import CommandContext
from headgate.cli.errors import FAILED
from headgate.cli.output import console_for, print_json
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.words.times import duration
from headgate.kernel.clock import RealClock
from headgate.storage.channels.requests import ScanProgress, get_scan_progress

LOOK_S = 0.5
LONG_QUEUED_S = 10.0


async def watch_scan(context: CommandContext, scan_id: UUID) -> ScanProgress:
    """Look at a scan until it has ended, with a bar on standard error where that is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    clock = RealClock()
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    shown = Progress(
        *columns, console=console_for(sys.stderr), disable=not sys.stderr.isatty(), transient=True
    )
    warn_at_s: float | None = clock.monotonic() + LONG_QUEUED_S
    with shown as progress:
        # How much lies ahead is not known before it was read; the bar only says that something goes on.
        task = progress.add_task("queued", total=None)
        while not (scan := await _get(context, scan_id)).ended:
            progress.update(task, description=_so_far(scan))
            if scan.status == "RUNNING":
                warn_at_s = None
            elif warn_at_s is not None and clock.monotonic() > warn_at_s:
                warn_at_s = None
                progress.console.print(
                    "It has not started yet: is `headgate up` or `headgate worker` running?"
                    " Ctrl-C ends the waiting, not the scan."
                )
            await clock.sleep(LOOK_S)
    return scan


def print_ended(title: str, scan: ScanProgress, *, as_json: bool) -> None:
    """Say how a scan has ended; the command fails if the scan did."""
    if as_json:
        print_json(scan)
    elif scan.status == "SUCCEEDED":
        took = duration((scan.ended_at - scan.queued_at).total_seconds()) if scan.ended_at else ""
        typer.echo(f"{title} is scanned: {_counts(scan)}, in {took}.")
    if scan.status != "SUCCEEDED":
        typer.echo(
            f"The scan of {title} has {scan.status}: {scan.error_message or 'no reason was given'}."
            f" {_counts(scan)} until then.",
            err=True,
        )
        raise typer.Exit(FAILED)


async def _get(context: CommandContext, scan_id: UUID) -> ScanProgress:
    async with context.database.transaction() as tx:
        scan = await get_scan_progress(tx, scan_id)
    if scan is None:
        raise UserError("The scan no longer exists: the channel was removed, or its history pruned.")
    return scan


def _so_far(scan: ScanProgress) -> str:
    return "queued" if scan.status == "QUEUED" else f"scanning: {_counts(scan)}"


def _counts(scan: ScanProgress) -> str:
    pages, messages = count_of(scan.pages, "page"), count_of(scan.messages, "message")
    return f"{pages}, {messages}, {count_of(scan.items, 'item')}"
