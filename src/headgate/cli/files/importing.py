"""`headgate import`: bring an existing collection into the library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.errors import FAILED
from headgate.cli.output import AsJson, console_for, print_json
from headgate.cli.phrases import count_of

if TYPE_CHECKING:
    from headgate.app.import_work import ImportState
    from headgate.app.parts import Parts
    from headgate.intake.channels.importing import StartedImport
    from headgate.kernel.settings import Settings
    from headgate.storage.library.imports import FailedFile

INTERRUPTED = 130
SHOWN_FAILURES = 10
_LEFT_OUT = {
    "hidden": "hidden file",
    "links": "link",
    "special": "special file",
    "unreadable": "unreadable file",
    "own": "Headgate folder",
}


@dataclass(frozen=True)
class ImportReport:
    """What an import did."""

    channel: str
    folder: str
    finished: bool
    files: int
    size_bytes: int
    stored: int
    stored_now: int
    known_before: int
    failed: int
    postponed: int
    without_room: int
    needs_bytes: int
    rejected: int
    left_out: dict[str, int]
    failures: list[FailedFile]


def import_folder(
    folder: Annotated[Path, typer.Argument(help="The folder to import, with everything below it.")],
    *,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Leave files where they are instead of copying them.")
    ] = False,
    title: Annotated[str, typer.Option(help="Title of the channel; else the folder's name.")] = "",
    as_json: AsJson = False,
) -> None:
    """Import a folder into the library, as a channel: every file is read, stored and looked into.

    Import it again to add new and changed files; what is stored already is not read again. Ctrl-C stops
    the import, and the same command continues it. `headgate up` keeps an imported folder up to date.
    """
    from headgate.cli.up import run_quickly
    from headgate.kernel.settings import load_settings

    reports: list[ImportReport] = []

    async def work() -> None:
        reports.append(await _import(load_settings(), folder, title=title, in_place=in_place))

    run_quickly(work())
    (report,) = reports
    if as_json:
        print_json(report)
    else:
        _print(report)
    if not report.finished:
        raise typer.Exit(INTERRUPTED)
    if report.failed or report.postponed or report.without_room:
        raise typer.Exit(FAILED)


async def _import(settings: Settings, folder: Path, *, title: str, in_place: bool) -> ImportReport:
    from headgate.app.connectors import load_connectors
    from headgate.app.import_work import own_folders, work_on_import
    from headgate.app.parts import open_parts
    from headgate.app.product_time import find_clock
    from headgate.app.server import open_server
    from headgate.app.service import stop_on_signals
    from headgate.cli.up import prepare_folder
    from headgate.intake.channels.importing import PLATFORM, check_folder, start_import
    from headgate.kernel.clock import RealClock
    from headgate.storage.database import wait_for_server
    from headgate.storage.migrate import migrate

    own = own_folders(settings)
    check_folder(folder, own_folders=own)
    prepare_folder(settings.data.dir)
    connectors = {PLATFORM: load_connectors(settings)[PLATFORM]}
    async with open_server(settings) as url:
        await wait_for_server(url, RealClock())
        await migrate(url)
        clock = await find_clock(url)
        async with open_parts(
            settings, url, clock=clock, connectors=connectors, name="headgate import"
        ) as parts:
            started = await start_import(
                parts.database,
                folder,
                own_folders=own,
                title=title,
                in_place=in_place,
                ids=parts.ids,
                clock=parts.clock,
            )
            stop = stop_on_signals()
            with _shown() as show:
                state = await work_on_import(parts, started, stop=stop, on_progress=show)
            return await _report(parts, started, state)


async def _report(parts: Parts, started: StartedImport, state: ImportState) -> ImportReport:
    from headgate.app.import_work import count_left_out
    from headgate.domain.errors import UserError
    from headgate.storage.library.imports import list_failed

    if state.scan.status not in {"SUCCEEDED", "QUEUED", "RUNNING"}:
        raise UserError(
            f"The folder could not be listed: {state.scan.error_message or state.scan.status}.",
            command="headgate import " + started.path,
        )
    async with parts.database.transaction() as tx:
        failures = await list_failed(tx, started.channel_id, limit=SHOWN_FAILURES)
    progress = state.progress
    return ImportReport(
        channel=started.title,
        folder=started.path,
        finished=state.ended,
        files=progress.files,
        size_bytes=progress.size_bytes,
        stored=progress.stored,
        stored_now=progress.stored_now,
        known_before=progress.known_before,
        failed=progress.failed,
        postponed=progress.postponed,
        without_room=progress.without_room,
        needs_bytes=progress.needs_bytes,
        rejected=progress.rejected,
        left_out=await count_left_out(parts, started),
        failures=failures,
    )


@contextmanager
def _shown() -> Generator[Callable[[ImportState], None], None, None]:
    """Show on a terminal how far an import is, in files and bytes."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    console = console_for(sys.stderr)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task("Listing", total=None)

        def show(state: ImportState) -> None:
            total = state.progress.size_bytes if state.scan.ended else None
            bar.update(task, description=_so_far(state), completed=state.progress.stored_bytes, total=total)

        yield show


def _so_far(state: ImportState) -> str:
    progress = state.progress
    if not state.scan.ended:
        return f"Listing: {count_of(progress.files, 'file')}, {progress.stored:,} stored"
    if progress.due:
        known = f", {progress.known_before:,} known before" if progress.known_before else ""
        return f"{progress.stored:,} of {count_of(progress.files, 'file')} stored{known}"
    return f"Looking into files: {progress.uninspected:,} left"


def _print(report: ImportReport) -> None:
    for sentence in _sentences(report):
        typer.echo(sentence)
    for failure in report.failures:
        typer.echo(f"  {failure.path!r}: {failure.reason}", err=True)


def _sentences(report: ImportReport) -> Generator[str, None, None]:
    from headgate.domain.words.times import size_text

    known = f", {report.known_before:,} of them with known content" if report.known_before else ""
    new = f"{report.stored_now:,} new{known}" if report.stored_now else "nothing new"
    yield (
        f"{report.channel}: {report.stored:,} of {count_of(report.files, 'file')}"
        f" ({size_text(report.size_bytes)}) stored, {new}."
    )
    if report.left_out:
        listed = ", ".join(count_of(count, _LEFT_OUT[why]) for why, count in sorted(report.left_out.items()))
        yield f"Left out: {listed}."
    if report.rejected:
        yield f"{count_of(report.rejected, 'file')} rejected by the channel's settings."
    if report.without_room:
        needed = size_text(report.needs_bytes)
        yield f"{count_of(report.without_room, 'file')} waiting for disk space: {needed} more."
    if report.failed:
        yield f"{count_of(report.failed, 'file')} could not be read. Import again to retry."
    if report.postponed:
        yield (
            f"{count_of(report.postponed, 'file')} could not be read yet. `headgate up` retries,"
            " or import again."
        )
    if not report.finished:
        yield "Stopped. Run the same command again to continue; `headgate up` continues by itself."
