"""Restore a backup: our own migrations make the tables, and the file gives rows for them and nothing else.

All of it is one transaction. What the database held before is set aside as a schema of its own, in the same
transaction: a restore that fails, or whose process is killed, leaves the database as it was.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg import sql

from headgate.domain.errors import UserError
from headgate.storage.backup.backup import (
    Contents,
    OnProgress,
    copy_statement,
    ignore_progress,
    lift_limits,
    list_contents,
    verify,
)
from headgate.storage.backup.file import (
    BackupManifest,
    check_origin,
    damaged,
    foreign,
    read_manifest,
    read_table,
)
from headgate.storage.database import Connection, Tx
from headgate.storage.migrate import Migration, apply_pending, open_for_migration
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

SET_ASIDE = "headgate_before_restore"
_VERIFIED_AT = 0.3
_LOCK_TRIES = 10
_COLLISIONS = (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable)


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    manifest: BackupManifest
    migrated: list[Migration]
    set_aside: str | None
    """The schema that holds what was there before."""


Finish = Callable[[Tx], Awaitable[None]]


@dataclass(frozen=True)
class StoreOwner:
    """Which mark the store of a database has, and whether it has one yet."""

    id: UUID
    marked: bool


@dataclass(frozen=True)
class ForeignKey:
    """A reference between tables, in the server's words."""

    table_name: str
    name: str
    definition: str


async def restore(
    url: str,
    source: Path,
    *,
    replace: bool = False,
    keep_old: bool = True,
    finish: Finish | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Restored:
    """Bring a backup into the database; over a non-empty one only if told to replace it.

    `finish` is done to the restored rows in the same transaction.
    """
    check_origin(read_manifest(source))
    manifest = verify(source, on_progress=lambda part: on_progress(part * _VERIFIED_AT))
    step = _Step(source, manifest, lambda part: on_progress(_VERIFIED_AT + part * (1 - _VERIFIED_AT)))
    try:
        async with open_for_migration(url) as connection, connection.transaction():
            await lift_limits(connection)
            await Tx(connection).execute(Q["keep_files"])
            if await _is_empty(connection):
                migrated = await step.fill(connection)
                await Tx(connection).execute(Q["forget_unused_store"])
                await _finish(connection, finish)
                return Restored(manifest, migrated, None)
            _refuse_unless(replace=replace, name=connection.info.dbname)
            owner = await get_owner(Tx(connection))
            await _set_aside(connection)
            migrated = await step.fill(connection)
            if owner is not None:
                # The mark is in the store, and the store stays.
                await set_owner(Tx(connection), owner)
            await _finish(connection, finish)
            await _lock_old(connection)
            if not keep_old:
                await _drop_old(connection)
            return Restored(manifest, migrated, SET_ASIDE if keep_old else None)
    except psycopg.errors.InsufficientPrivilege as error:
        raise UserError(
            f"The database user lacks a right that a restore needs: {error.diag.message_primary}.",
            remedy="Nothing was changed. Let it own the database and the schema in it:"
            " `alter schema public owner to pg_database_owner`.",
        ) from error
    except psycopg.Error as error:
        raise UserError(
            f"The backup could not be loaded: {error.diag.message_primary or str(error).strip()}.",
            remedy="Nothing was changed: a backup is loaded completely or not at all.",
        ) from error


@dataclass(frozen=True)
class _Step:
    """A verified backup on its way into a schema without tables, in an open transaction."""

    source: Path
    manifest: BackupManifest
    on_progress: OnProgress

    async def fill(self, connection: Connection) -> list[Migration]:
        """Build the schema that the rows are of, load them, and migrate to this code's schema."""
        await apply_pending(connection, through=len(self.manifest.migrations))
        self._check_contents(await list_contents(connection))
        async with _without_rules(connection):
            await self._load(connection)
        return await apply_pending(connection)

    def _check_contents(self, own: Contents) -> None:
        """Refuse by name what our migrations do not make."""
        found = Contents(
            {name: table.columns for name, table in self.manifest.tables.items()}, self.manifest.sequences
        )
        strange = sorted(found.names() - own.names()) or sorted(found.columns() - own.columns())
        if strange:
            raise foreign(strange)
        if missing := sorted(own.names() - found.names()):
            raise damaged(self.source, f"it lacks {', '.join(missing)}")

    async def _load(self, connection: Connection) -> None:
        # Migrations may have put rows there, which the backup has as well.
        names = sql.SQL(", ").join(map(sql.Identifier, self.manifest.tables))
        await connection.execute(sql.SQL("truncate {}").format(names))
        done = 0
        for name, table in self.manifest.tables.items():
            statement = copy_statement(name, table.columns, direction="from stdin")
            async with connection.cursor() as cursor:
                async with cursor.copy(statement) as copy:
                    for chunk in read_table(self.source, name):
                        await copy.write(chunk)
                        done += chunk.count(b"\n")
                        self.on_progress(min(1.0, done / max(1, self.manifest.rows)))
                if cursor.rowcount != table.rows:
                    raise damaged(self.source, f"{name} took {cursor.rowcount} of {table.rows} rows")
        for name, state in self.manifest.sequences.items():
            quoted = sql.Identifier(name).as_string(connection)
            await Tx(connection).value(
                Q["set_sequence"], name=quoted, last_value=state.last_value, is_called=state.is_called
            )


@asynccontextmanager
async def _without_rules(connection: Connection) -> AsyncGenerator[None, None]:
    """Load rows in any order and as they are: references are checked afterwards, triggers do not fire."""
    references = await Tx(connection).all(ForeignKey, Q["list_foreign_keys"])
    triggered: list[str] = await Tx(connection).column(Q["list_triggered"])
    for key in references:
        await _alter(connection, key.table_name, "drop constraint {}", sql.Identifier(key.name))
    for table in triggered:
        await _alter(connection, table, "disable trigger user")
    yield
    for table in triggered:
        await _alter(connection, table, "enable trigger user")
    for key in references:
        spelled = sql.SQL(key.definition)  # pyright: ignore[reportArgumentType] - of our own migrations
        await _alter(connection, key.table_name, "add constraint {} {}", sql.Identifier(key.name), spelled)


async def get_owner(tx: Tx) -> StoreOwner | None:
    """Return which store belongs to the database, if it has had one."""
    if not await tx.value(Q["has_owner"]):
        return None
    return await tx.one(StoreOwner, Q["get_owner"])


async def set_owner(tx: Tx, owner: StoreOwner) -> None:
    """Say which store belongs to the database from now on."""
    await tx.execute(Q["set_owner"], id=owner.id, marked=owner.marked)


async def note_damaged(tx: Tx, names: Sequence[str], *, now: datetime) -> None:
    """Note that these objects are damaged, and all others were found whole."""
    await tx.execute(Q["note_damaged"], names=list(names), now=now)


async def _finish(connection: Connection, finish: Finish | None) -> None:
    if finish is not None:
        await finish(Tx(connection))


async def _is_empty(connection: Connection) -> bool:
    return not await Tx(connection).value(Q["count_relations"])


def _refuse_unless(*, replace: bool, name: str) -> None:
    if not replace:
        raise UserError(
            f"The database {name!r} is not empty.",
            remedy="Nothing was changed. Restore into an empty database, or use --force to replace its"
            " contents.",
        )


async def _set_aside(connection: Connection) -> None:
    """Give the schema another name and make a new one in its place; others see it when we commit."""
    name = await Tx(connection).value(Q["get_schema_name"])
    await _drop_old(connection)
    await connection.execute(
        sql.SQL("alter schema {} rename to {}").format(sql.Identifier(name), sql.Identifier(SET_ASIDE))
    )
    await connection.execute(sql.SQL("create schema {}").format(sql.Identifier(name)))


async def _drop_old(connection: Connection) -> None:
    await connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(SET_ASIDE)))


async def _lock_old(connection: Connection) -> None:
    """End other sessions and lock the old tables: no transaction may begin on them and go on with the new."""
    tx = Tx(connection)
    names: list[str] = await tx.column(Q["list_tables_of"], schema=SET_ASIDE)
    if not names:
        return
    tables = sql.SQL(", ").join(sql.Identifier(SET_ASIDE, name) for name in names)
    await connection.execute("set local lock_timeout = '2s'")
    for tries_left in reversed(range(_LOCK_TRIES)):
        await tx.value(Q["end_other_sessions"])
        try:
            async with connection.transaction():
                await connection.execute(sql.SQL("lock table {}").format(tables))
        except _COLLISIONS:
            if not tries_left:
                raise
        else:
            return


async def _alter(connection: Connection, table: str, change: str, *parts: sql.Composable) -> None:
    changed = sql.SQL(change).format(*parts)  # pyright: ignore[reportArgumentType] - a literal of this module
    await connection.execute(sql.SQL("alter table {} {}").format(sql.Identifier(table), changed))
