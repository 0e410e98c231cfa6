"""Restore a backup: verified before, in one transaction, counted after.

Over a database that holds something it goes into a new one, which takes the old one's name at the very end: a
restore that fails loses nothing, and the old database stays beside it until it is dropped.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headgate.domain.errors import UserError
from headgate.kernel.randomness import secret_bytes
from headgate.storage.backup import OnProgress, check_rows, count_rows, ignore_progress, verify
from headgate.storage.database import Connection, connect
from headgate.storage.dump_file import Manifest, check_origin, read_dump, read_manifest
from headgate.storage.dump_tools import Script, ToolFailed, guarded_conninfo, open_psql, read_script, write
from headgate.storage.migrate import Migration, check_server, migrate

_VERIFIED_AT = 0.3
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    manifest: Manifest
    migrated: list[Migration]
    set_aside: str | None
    """The name that the database from before has now."""


async def restore(
    url: str,
    source: Path,
    *,
    replace: bool = False,
    keep_old: bool = True,
    on_progress: OnProgress = ignore_progress,
) -> Restored:
    """Bring a backup into the database; over a non-empty one only if told to replace it."""
    check_origin(read_manifest(source))
    manifest = await verify(source, on_progress=lambda part: on_progress(part * _VERIFIED_AT))
    step = _Step(source, manifest, lambda part: on_progress(_VERIFIED_AT + part * (1 - _VERIFIED_AT)))
    if await is_empty(url):
        return Restored(manifest, await step.fill(url), None)
    if not replace:
        raise UserError(
            f"The database {_name_of(url)!r} is not empty.",
            remedy="Nothing was changed. Restore into an empty database, or say --force to put the backup in"
            " its place.",
        )
    return await _replace(url, step, keep_old=keep_old)


async def is_empty(url: str) -> bool:
    """Tell whether the database has no table at all."""
    connection = await connect(url, name="headgate restore")
    async with connection:
        await check_server(connection)
        return not await count_rows(connection)


@dataclass(frozen=True)
class _Step:
    """A verified backup on its way into an empty database."""

    source: Path
    manifest: Manifest
    on_progress: OnProgress

    async def fill(self, url: str) -> list[Migration]:
        """Load the dump in one transaction, count, and migrate to this code's schema."""
        try:
            await self._load(url)
        except ToolFailed as error:
            raise UserError(
                f"The backup could not be loaded: {error}.",
                remedy="Nothing was changed: it is loaded as a whole or not at all.",
            ) from error
        connection = await connect(url, name="headgate restore")
        async with connection:
            found = await count_rows(connection)
        check_rows(
            self.manifest.tables,
            found,
            error=UserError(
                "The restored tables do not have the rows that the backup counted.",
                remedy="Something else wrote to the database meanwhile: stop it and restore again.",
            ),
        )
        return await migrate(url)

    async def _load(self, url: str) -> None:
        script = Script()
        with guarded_conninfo(url) as conninfo:
            async with open_psql(conninfo) as psql:
                async for chunk in read_script(read_dump(self.source)):
                    await write(psql, script.feed(chunk))
                    self.on_progress(min(1.0, script.row_count / max(1, self.manifest.rows)))
                await write(psql, script.finish())


async def _replace(url: str, step: _Step, *, keep_old: bool) -> Restored:
    name = _name_of(url)
    fresh = f"{name[:_LONGEST_NAME]}_restore_{secret_bytes(4).hex()}"
    aside = f"{name[:_LONGEST_NAME]}_before_restore"
    maintenance = await _connect_beside(url)
    async with maintenance:
        await _create(maintenance, fresh)
        try:
            migrated = await step.fill(make_conninfo(url, dbname=fresh))
            await _drop(maintenance, aside)
            await _swap(maintenance, name=name, fresh=fresh, aside=aside)
        except BaseException:
            await _drop(maintenance, fresh)
            raise
        if not keep_old:
            await _drop(maintenance, aside)
    return Restored(step.manifest, migrated, aside if keep_old else None)


async def _connect_beside(url: str) -> Connection:
    """Connect to another database of the server: the one in use cannot be renamed."""
    last: psycopg.OperationalError | None = None
    for name in ("postgres", "template1"):
        try:
            return await connect(make_conninfo(url, dbname=name), name="headgate restore")
        except psycopg.OperationalError as error:
            last = error
    raise UserError(
        f"No other database of the server lets us in: {str(last).strip()}",
        remedy="Restore into an empty database instead.",
    )


async def _create(maintenance: Connection, name: str) -> None:
    try:
        await maintenance.execute(
            sql.SQL("create database {} template template0").format(sql.Identifier(name))
        )
    except psycopg.errors.InsufficientPrivilege as error:
        raise UserError(
            "This database user may not create databases, which replacing one needs.",
            remedy="Nothing was changed. Grant it CREATEDB, or restore into an empty database.",
        ) from error


async def _drop(maintenance: Connection, name: str) -> None:
    await maintenance.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


async def _swap(maintenance: Connection, *, name: str, fresh: str, aside: str) -> None:
    """Exchange the names in one transaction, with the doors of the old database shut meanwhile."""
    allow = sql.SQL("alter database {} allow_connections {}")
    await maintenance.execute(allow.format(sql.Identifier(name), sql.SQL("false")))
    try:
        await maintenance.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = any(%s)",
            ([name, fresh],),
        )
        rename = sql.SQL("alter database {} rename to {}")
        async with maintenance.transaction():
            await maintenance.execute(rename.format(sql.Identifier(name), sql.Identifier(aside)))
            await maintenance.execute(rename.format(sql.Identifier(fresh), sql.Identifier(name)))
    except BaseException:
        with suppress(psycopg.Error):
            await maintenance.execute(allow.format(sql.Identifier(name), sql.SQL("true")))
        raise
    await maintenance.execute(allow.format(sql.Identifier(aside), sql.SQL("true")))


def _name_of(url: str) -> str:
    parameters = conninfo_to_dict(url)
    return str(parameters.get("dbname") or parameters.get("user") or "")
