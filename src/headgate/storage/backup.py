"""A backup is a dump that was read back: every table has as many rows in it as its snapshot had."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from psycopg import sql

from headgate import __version__
from headgate.domain.errors import UserError
from headgate.storage.database import Connection, Tx, connect
from headgate.storage.dump_file import (
    Manifest,
    damaged,
    open_dump,
    read_dump,
    read_manifest,
    write_manifest,
)
from headgate.storage.dump_tools import Script, ToolFailed, guarded_conninfo, read_database, read_script
from headgate.storage.migrate import Applied, check_server
from headgate.storage.queries import load_queries

Q = load_queries("backup")

OnProgress = Callable[[float], None]
"""Told how much of the whole is done, from 0 to 1."""

_DUMPED_AT = 0.5
# What compression usually leaves of a database's size on disk; only the progress bar believes it.
_COMPRESSION = 0.25


def ignore_progress(_part: float) -> None:
    """Tell nobody."""


async def backup(
    url: str, target: Path, *, taken_at: datetime, on_progress: OnProgress = ignore_progress
) -> Manifest:
    """Write a verified backup of the database to a new file, which appears only when it is whole."""
    _refuse_existing(target)
    draft = target.with_name(f".{target.name}.partial")
    try:
        draft.unlink(missing_ok=True)
        await _write(url, draft, taken_at=taken_at, on_progress=on_progress)
        manifest = await verify(
            draft, on_progress=lambda part: on_progress(_DUMPED_AT + part * (1 - _DUMPED_AT))
        )
        draft.rename(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise UserError(
            f"The backup could not be written to {target}: {error.strerror or error}.",
            remedy="Look at the disk space and the permissions there, or name another place.",
        ) from error
    except ToolFailed as error:
        raise UserError(
            f"The database could not be dumped: {error}.", remedy="`headgate doctor` names known faults."
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return manifest


async def verify(source: Path, *, on_progress: OnProgress = ignore_progress) -> Manifest:
    """Unpack the whole dump and compare its rows with the manifest; raise if anything is missing."""
    manifest = read_manifest(source)
    script = Script()
    try:
        async for chunk in read_script(read_dump(source)):
            script.feed(chunk)
            on_progress(min(1.0, script.row_count / max(1, manifest.rows)))
    except ToolFailed as error:
        raise damaged(source, str(error)) from error
    check_rows(manifest.tables, script.rows, error=damaged(source, "the rows in it are not those it counted"))
    return manifest


def check_rows(expected: dict[str, int], found: dict[str, int], *, error: UserError) -> None:
    if expected != found:
        raise error


async def count_rows(connection: Connection) -> dict[str, int]:
    """Count the rows of every table, in one statement."""
    names: list[str] = await Tx(connection).column(Q["list_tables"])
    if not names:
        return {}
    counts = [
        sql.SQL("select {}, count(*) from {}").format(sql.Literal(name), sql.SQL(name))  # pyright: ignore[reportArgumentType] - quoted by the server
        for name in names
    ]
    cursor = await connection.execute(sql.SQL(" union all ").join(counts))
    return {str(name): int(count) for name, count in await cursor.fetchall()}


async def _write(url: str, draft: Path, *, taken_at: datetime, on_progress: OnProgress) -> None:
    connection = await connect(url, name="headgate backup")
    async with connection:
        await check_server(connection)
        await connection.execute("begin isolation level repeatable read, read only")
        manifest = await _describe(connection, taken_at=taken_at)
        tx = Tx(connection)
        snapshot = str(await tx.value(Q["export_snapshot"]))
        expected_bytes = max(1.0, await tx.value(Q["get_size"]) * _COMPRESSION)
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive, guarded_conninfo(url) as conninfo:
                with open_dump(archive) as dump:
                    written = 0
                    async for chunk in read_database(conninfo, snapshot=snapshot):
                        written += dump.write(chunk)
                        on_progress(min(1.0, written / expected_bytes) * _DUMPED_AT)
                write_manifest(archive, manifest)
            file.flush()
            os.fsync(file.fileno())


async def _describe(connection: Connection, *, taken_at: datetime) -> Manifest:
    tx = Tx(connection)
    if not await tx.value(Q["has_ledger"]):
        raise UserError(
            f"The database {connection.info.dbname!r} is not one of Headgate.",
            remedy="There is nothing to back up; `headgate db migrate` sets it up.",
        )
    return Manifest(
        headgate=__version__,
        server_version=connection.info.server_version,
        taken_at=taken_at,
        database=connection.info.dbname,
        migrations=await tx.all(Applied, Q["list_applied"]),
        tables=await count_rows(connection),
    )


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise UserError(f"{target} exists already.", remedy="Name another file; a backup overwrites nothing.")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
