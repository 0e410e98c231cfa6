"""`headgate backup` and `headgate restore`: everything, database and files."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.errors import FAILED
from headgate.cli.output import AsJson, Yes, confirm, print_json, share_bar
from headgate.cli.phrases import count_of

if TYPE_CHECKING:
    from headgate.cli.context import CommandContext
    from headgate.ingest.storing.backups import BackedUp, BackupProgress, RestoredAll
    from headgate.kernel.settings import Settings
    from headgate.storage.backup.folder import BackupFolder, FullBackup

_KEY_NOTE = "The key file (secret.key) is not in it: copy it from the data folder, to another place."


def backup(
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="An empty folder, or one of backups.")],
    *,
    keep: Annotated[int, typer.Option(min=1, help="How many backups to keep in the folder.")] = 3,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the files of earlier backups, too, and repair them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Back up the database and all stored files, verified. Headgate may run meanwhile.

    Files of earlier backups in the folder are not copied again. Exits with 1 if stored files were damaged.
    """
    from headgate.cli.context import with_database
    from headgate.kernel.clock import RealClock
    from headgate.storage.backup.folder import BackupFolder

    folder = BackupFolder(target.absolute())

    async def work(context: CommandContext) -> BackedUp:
        from headgate.ingest.storing.backups import back_up

        async with context.open_files() as files:
            with _shown("Backing up") as shown:
                return await back_up(
                    files, folder, taken_at=RealClock().now(), keep=keep, verify=verify, shown=shown
                )

    done = with_database(work)
    if as_json:
        print_json({"folder": folder.folder / done.backup.name, **vars(done)})
    else:
        _print_backup(folder, done)
    if done.backup.damaged:
        raise typer.Exit(FAILED)


def _print_backup(folder: BackupFolder, done: BackedUp) -> None:
    from headgate.domain.words.times import size_text

    backup = done.backup
    typer.echo(
        f"{folder.folder / backup.name}: the database ({size_text(backup.dump_bytes)}) and"
        f" {count_of(backup.files, 'file')} ({size_text(backup.size_bytes)}), verified;"
        f" {size_text(done.copied_bytes)} were new."
    )
    if done.in_place:
        typer.echo(
            f"Not in the backup: {count_of(done.in_place, 'file')} imported in place. Back up their folders"
            " yourself."
        )
    if done.removed:
        typer.echo(f"Removed older backups: {', '.join(done.removed)}.")
    if backup.damaged:
        typer.echo(
            f"{count_of(len(backup.damaged), 'stored file is', 'stored files are')} missing or damaged, and"
            " not in the backup. Run `headgate audit` to fetch them again."
        )
    typer.echo(_KEY_NOTE)


def restore(
    source: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder of backups (the newest), or one backup in it.")
    ],
    *,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave out files that are damaged in the backup.")
    ] = False,
    keep_old: Annotated[bool, typer.Option(help="Keep the previous database in a second schema.")] = True,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Replace the database and the stored files with a backup.

    Files are verified and copied first; the database changes last, completely or not at all. A restore that
    was interrupted can be run again.
    """
    from headgate.domain.words.times import size_text
    from headgate.kernel.settings import load_settings
    from headgate.storage.backup.folder import find_backup

    folder, chosen = find_backup(source.absolute())
    taken = f"{chosen.taken_at:%Y-%m-%d %H:%M} UTC, {chosen.files:,} files, {size_text(chosen.size_bytes)}"
    confirm(f"Replace all that Headgate has with the backup ({taken})?", yes=yes)
    done = asyncio.run(
        _restore(load_settings(), folder, chosen, keep_old=keep_old, skip_damaged=skip_damaged)
    )
    if as_json:
        print_json(
            {
                "backup": chosen,
                "rows": done.database.manifest.rows,
                "migrated": [migration.number for migration in done.database.migrated],
                "set_aside": done.database.set_aside,
                "copied": done.copied,
                "copied_bytes": done.copied_bytes,
                "damaged": done.damaged,
            }
        )
        return
    _print_restore(chosen, done)


async def _restore(
    settings: Settings, folder: BackupFolder, chosen: FullBackup, *, keep_old: bool, skip_damaged: bool
) -> RestoredAll:
    from headgate.app.server import open_server
    from headgate.ingest.storing.backups import restore_all
    from headgate.kernel.clock import RealClock
    from headgate.kernel.ids import Ids
    from headgate.kernel.randomness import Randomness
    from headgate.storage.blobs.opening import open_store

    clock = RealClock()
    store = open_store(settings.files, settings.data.dir)
    try:
        async with open_server(settings) as url:
            with _shown("Restoring") as shown:
                return await restore_all(
                    url,
                    store,
                    folder,
                    chosen,
                    scratch=settings.data.dir / "restoring",
                    clock=clock,
                    ids=Ids(clock, Randomness()),
                    keep_old=keep_old,
                    skip_damaged=skip_damaged,
                    shown=shown,
                )
    finally:
        await store.close()


def _print_restore(chosen: FullBackup, done: RestoredAll) -> None:
    from headgate.domain.words.times import size_text

    typer.echo(
        f"Restored {done.database.manifest.rows:,} rows and {count_of(chosen.files, 'file')};"
        f" {size_text(done.copied_bytes)} were copied, the rest was there."
    )
    if done.damaged:
        typer.echo(
            f"{count_of(len(done.damaged), 'file is', 'files are')} missing. What can be fetched again"
            " will be; `headgate audit --status` shows the rest."
        )
    if done.database.set_aside:
        typer.echo(
            f"The previous database is kept in the schema {done.database.set_aside} until the next restore;"
            " files that only it uses are deleted in a day or two."
        )


@contextmanager
def _shown(text: str) -> Generator[BackupProgress, None, None]:
    from headgate.ingest.storing.backups import BackupProgress

    with share_bar(text) as show:
        yield BackupProgress(
            on_rows=lambda part: show(part, "the database"),
            on_files=lambda done, total: show(done / total if total else 1, "the files"),
        )
