"""A backup: the rows of all our tables at one moment, in a file that is read back before it counts."""

from __future__ import annotations

import os
import zipfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql

from headgate import __version__
from headgate.domain.errors import UserError
from headgate.storage.backup.file import (
    CHUNK_BYTES,
    BackupManifest,
    SequenceState,
    TableRows,
    damaged,
    open_table,
    read_manifest,
    read_table,
    write_manifest,
)
from headgate.storage.database import Connection, Tx, connect
from headgate.storage.migrate import Applied, apply_pending, check_server
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

OnProgress = Callable[[float], None]
"""Told how much of the whole is done, from 0 to 1."""

_WRITTEN_AT = 0.6


def ignore_progress(_part: float) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class _Columns:
    table_name: str
    columns: list[str]


@dataclass(frozen=True)
class _Sequence:
    name: str
    last_value: int
    is_called: bool


@dataclass(frozen=True)
class Contents:
    """The tables with their columns, and the sequences, that a schema has."""

    tables: dict[str, list[str]]
    sequences: dict[str, SequenceState]

    def names(self) -> set[str]:
        return {*self.tables, *(f"sequence {name}" for name in self.sequences)}

    def columns(self) -> set[str]:
        return {f"{table}.{column}" for table, columns in self.tables.items() for column in columns}


async def list_contents(connection: Connection) -> Contents:
    tx = Tx(connection)
    tables = await tx.all(_Columns, Q["list_columns"])
    sequences = await tx.all(_Sequence, Q["list_sequences"])
    return Contents(
        {table.table_name: table.columns for table in tables},
        {one.name: SequenceState(one.last_value, one.is_called) for one in sequences},
    )


async def backup(
    url: str, target: Path, *, taken_at: datetime, on_progress: OnProgress = ignore_progress
) -> BackupManifest:
    """Write a verified backup of the database to a new file, which appears only when it is whole."""
    _refuse_existing(target)
    draft = target.with_name(f".{target.name}.partial")
    try:
        draft.unlink(missing_ok=True)
        await _write(url, draft, taken_at=taken_at, on_progress=lambda part: on_progress(part * _WRITTEN_AT))
        manifest = verify(draft, on_progress=lambda part: on_progress(_WRITTEN_AT + part * (1 - _WRITTEN_AT)))
        draft.rename(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise UserError(
            f"The backup could not be written to {target}: {error.strerror or error}.",
            remedy="Check the disk space and the permissions there, or choose another place.",
        ) from error
    except psycopg.Error as error:
        raise UserError(
            f"The database could not be copied: {str(error).strip()}.",
            command="headgate doctor",
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return manifest


def verify(source: Path, *, on_progress: OnProgress = ignore_progress) -> BackupManifest:
    """Unpack the whole file and compare its rows with the manifest; raise if anything is missing."""
    manifest = read_manifest(source)
    done = 0
    for name, table in manifest.tables.items():
        found = 0
        for chunk in read_table(source, name):
            # A row is a line: COPY writes a line break inside of a value as a backslash and an n.
            found += chunk.count(b"\n")
            on_progress(min(1.0, (done + found) / max(1, manifest.rows)))
        if found != table.rows:
            raise damaged(source, f"{name} has {found} rows in it, and {table.rows} were counted")
        done += found
    return manifest


@asynccontextmanager
async def open_snapshot(url: str) -> AsyncGenerator[Connection, None]:
    """Connect, and see one moment of the database within the block."""
    connection = await connect(url, name="headgate backup")
    async with connection:
        await check_server(connection)
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        async with connection.transaction():
            await lift_limits(connection)
            yield connection


async def lift_limits(connection: Connection) -> None:
    """Let this transaction take its time, and write and read values in one form."""
    await Tx(connection).column(Q["lift_limits"])
    await Tx(connection).column(Q["fix_formats"])


async def _write(url: str, draft: Path, *, taken_at: datetime, on_progress: OnProgress) -> None:
    async with open_snapshot(url) as connection:
        applied = await _read_ledger(connection)
        present, own = await list_contents(connection), await _list_own(url, through=len(applied))
        _check_present(present, own)
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                wanted = {
                    table: [column for column in present.tables[table] if column in columns]
                    for table, columns in own.tables.items()
                }
                tables = await _write_tables(connection, archive, wanted, on_progress)
                # Asked again, after the rows: a sequence must not be behind them.
                sequences = (await list_contents(connection)).sequences
                write_manifest(
                    archive,
                    BackupManifest(
                        headgate=__version__,
                        server_version=connection.info.server_version,
                        taken_at=taken_at,
                        database=connection.info.dbname,
                        migrations=applied,
                        tables=tables,
                        sequences={name: sequences[name] for name in own.sequences},
                        left_out=_list_left_out(present, own),
                    ),
                )
            file.flush()
            os.fsync(file.fileno())


async def _write_tables(
    connection: Connection,
    archive: zipfile.ZipFile,
    wanted: Mapping[str, list[str]],
    on_progress: OnProgress,
) -> dict[str, TableRows]:
    # Only the progress bar believes that rows take as much room in text as in the database.
    expected_bytes = max(1, await Tx(connection).value(Q["get_size"], tables=list(wanted)))
    written: dict[str, TableRows] = {}
    written_bytes = 0
    for table, columns in wanted.items():
        statement = copy_statement(table, columns, direction="to stdout")
        async with connection.cursor() as cursor:
            with open_table(archive, table) as entry:
                async for chunk in _in_chunks(cursor.copy(statement)):
                    written_bytes += entry.write(chunk)
                    on_progress(min(1.0, written_bytes / expected_bytes))
            written[table] = TableRows(columns, cursor.rowcount)
    return written


async def _in_chunks(copying: AbstractAsyncContextManager[psycopg.AsyncCopy]) -> AsyncGenerator[bytes, None]:
    """Gather the rows, which come one by one, into pieces worth compressing."""
    gathered = bytearray()
    async with copying as copy:
        async for row in copy:
            gathered += row
            if len(gathered) >= CHUNK_BYTES:
                yield bytes(gathered)
                gathered.clear()
    yield bytes(gathered)


def copy_statement(
    table: str, columns: list[str], *, direction: Literal["to stdout", "from stdin"]
) -> sql.Composed:
    return sql.SQL("copy {} ({}) {} (encoding 'UTF8')").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(direction),
    )


async def _read_ledger(connection: Connection) -> list[Applied]:
    tx = Tx(connection)
    if not await tx.value(Q["has_ledger"]):
        raise UserError(
            f"The database {connection.info.dbname!r} is not a Headgate database.",
            remedy="There is nothing to back up; set it up first.",
            command="headgate db migrate",
        )
    return await tx.all(Applied, Q["list_applied"])


async def _list_own(url: str, *, through: int) -> Contents:
    """Return what our migrations make, by making it in a schema that is never committed."""
    connection = await connect(url, name="headgate backup")
    async with connection, connection.transaction(force_rollback=True):
        await connection.execute("create schema headgate_scratch")
        await connection.execute("set local search_path = headgate_scratch")
        await apply_pending(connection, through=through)
        return await list_contents(connection)


def _check_present(present: Contents, own: Contents) -> None:
    if missing := sorted(own.names() - present.names()):
        raise UserError(
            f"The database is missing what a backup needs: {', '.join(missing)}.",
            remedy="Update it first.",
            command="headgate db migrate",
        )


def _list_left_out(present: Contents, own: Contents) -> list[str]:
    names = sorted(present.names() - own.names())
    return names + sorted(
        column for column in present.columns() - own.columns() if column.partition(".")[0] in own.tables
    )


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise UserError(
            f"{target} already exists.", remedy="Choose another file; a backup never overwrites one."
        )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
