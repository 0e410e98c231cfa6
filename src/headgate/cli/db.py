"""`headgate db`: migrate, back up and restore the database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table, share_bar
from headgate.kernel.logs import mask_url

if TYPE_CHECKING:
    from headgate.storage.migrate import SchemaStatus

app = typer.Typer(no_args_is_help=True, help="Migrate, back up and restore the database.")

Result = TypeVar("Result")
_KEY_NOTE = (
    "Stored files and the key file (secret.key) are not in it. `headgate backup` copies the files, too; copy"
    " the key from the data folder."
)


@app.command()
def migrate(*, as_json: AsJson = False) -> None:
    """Update the schema. `headgate up` does so automatically."""
    from headgate.storage.migrate import migrate as apply

    applied = _with_database(apply)
    if as_json:
        print_json({"applied": [{"number": m.number, "name": m.name} for m in applied]})
        return
    print_table(
        ["number", "migration"], [(m.number, m.name) for m in applied], empty="The schema is up to date."
    )


@app.command()
def status(*, as_json: AsJson = False) -> None:
    """Show where the database is, and which migrations it has."""
    from headgate.storage.migrate import schema_status

    async def ask(url: str) -> tuple[str, SchemaStatus]:
        return url, await schema_status(url)

    url, schema = _with_database(ask)
    rows = [(row.number, row.name, True) for row in schema.applied]
    rows += [(migration.number, migration.name, False) for migration in schema.pending]
    if as_json:
        steps = [{"number": number, "name": name, "applied": applied} for number, name, applied in rows]
        address = mask_url(url)
        print_json(
            {
                "url": address,
                "current": schema.current,
                "engine": None if schema.engine is None else schema.engine.checksum,
                "migrations": steps,
            }
        )
        return
    typer.echo(mask_url(url))
    print_table(["number", "migration", "applied"], rows)
    typer.echo(
        "The schema is up to date." if schema.current else "Run `headgate db migrate` to bring it up to date."
    )


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="New file, or a folder to create it in.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Write a verified backup to a new file. Headgate may run meanwhile."""
    from headgate.kernel.clock import RealClock
    from headgate.storage.backup.backup import backup as write

    taken_at = RealClock().now()
    path = target / f"headgate-{taken_at:%Y%m%dT%H%M%SZ}.backup" if target.is_dir() else target
    with share_bar("Backing up") as show:
        manifest = _with_database(
            lambda url: write(
                url, path.absolute(), taken_at=taken_at, on_progress=lambda part: show(part, "the database")
            )
        )
    size_bytes = path.stat().st_size
    if as_json:
        print_json(
            {"file": path.absolute(), "size_bytes": size_bytes, "rows": manifest.rows, "manifest": manifest}
        )
        return
    typer.echo(
        f"{path}: {manifest.rows:,} rows of {len(manifest.tables)} tables, {size_bytes:,} bytes, verified."
    )
    if manifest.left_out:
        typer.echo(f"Left out, because Headgate did not make it: {', '.join(manifest.left_out)}.")
    typer.echo(_KEY_NOTE)


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Backup file.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the current contents.")] = False,
    keep_old: Annotated[bool, typer.Option(help="Keep the previous contents in a second schema.")] = True,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty database, or replace the current contents (--force).

    The backup is verified first and loaded completely or not at all. Nothing in it is executed.
    """
    from headgate.ingest.storing.backups import restore_database
    from headgate.storage.backup.file import read_manifest

    manifest = read_manifest(source)
    if force:
        taken = f"{manifest.taken_at:%Y-%m-%d %H:%M} UTC, {manifest.rows:,} rows"
        confirm(f"Put the backup ({taken}) in place of what the database holds?", yes=yes)
    with share_bar("Restoring") as show:
        restored = _with_database(
            lambda url: restore_database(
                url,
                source,
                replace=force,
                keep_old=keep_old,
                on_progress=lambda part: show(part, "the database"),
            )
        )
    if as_json:
        print_json(
            {
                "rows": restored.manifest.rows,
                "taken_at": restored.manifest.taken_at,
                "migrated": [migration.number for migration in restored.migrated],
                "set_aside": restored.set_aside,
            }
        )
        return
    typer.echo(f"Restored {restored.manifest.rows:,} rows of {len(restored.manifest.tables)} tables.")
    typer.echo("Stored files are as they were; `headgate audit` finds out whether any are missing.")
    if restored.set_aside:
        typer.echo(
            f"What was there before is kept in the schema {restored.set_aside} until the next such restore."
        )


def _with_database(work: Callable[[str], Awaitable[Result]]) -> Result:
    """Carry out work on the database that the settings name; the embedded server runs as long."""
    from headgate.app.server import open_server
    from headgate.kernel.settings import load_settings

    async def carry_out() -> Result:
        async with open_server(load_settings()) as url:
            return await work(url)

    return asyncio.run(carry_out())
