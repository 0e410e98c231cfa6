"""Numbered migrations with checksums, under one advisory lock.

A database that was migrated by newer code, or by a migration that was edited since, is refused. The engine
installs its own tables; the version that did it is in the ledger as number 0, since asking the catalogue
whether they are up to date takes longer than most commands.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import metadata, resources

from pgqueuer.adapters.drivers.psycopg import PsycopgDriver
from pgqueuer.adapters.persistence.queries import Queries
from psycopg.rows import class_row

from headgate.domain.errors import UserError
from headgate.storage.database import Connection, connect

_FILE = re.compile(r"^(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql$")
_LOCK = 0x68656164_67617465  # "headgate"
_LEDGER = """
create table if not exists headgate_migration (
    number int primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
)
"""

MIN_SERVER_VERSION = 150000


@dataclass(frozen=True)
class Migration:
    """One step of the schema."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True)
class Applied:
    """One line of the database's own ledger."""

    number: int
    name: str
    checksum: str


ENGINE = Applied(0, "pgqueuer", metadata.version("pgqueuer"))


@dataclass(frozen=True)
class SchemaStatus:
    """What the database has against what the code knows."""

    applied: list[Applied]
    pending: list[Migration]
    engine: Applied | None
    """Which version of the engine made its tables."""

    @property
    def current(self) -> bool:
        return not self.pending and self.engine == ENGINE


def list_migrations() -> list[Migration]:
    """Return the migrations of this code in order."""
    found: list[Migration] = []
    for entry in resources.files("headgate.storage").joinpath("migrations").iterdir():
        if match := _FILE.match(entry.name):
            sql = entry.read_text(encoding="utf-8")
            found.append(Migration(int(match["number"]), match["name"], sql))
    found.sort(key=lambda migration: migration.number)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise RuntimeError("the numbers of the migrations have a gap or a double")
    return found


async def migrate(url: str) -> list[Migration]:
    """Bring the database up to date and return what was applied."""
    async with open_for_migration(url) as connection:
        return await apply_pending(connection)


async def apply_pending(connection: Connection, *, through: int | None = None) -> list[Migration]:
    """Apply what is missing, through a number or all of it; in the caller's transaction if it has one."""
    await connection.execute(_LEDGER)
    status = await _status(connection)
    if status.engine != ENGINE:
        # First: a view of ours is on its tables.
        await _upgrade_engine(connection)
    pending = [m for m in status.pending if through is None or m.number <= through]
    for migration in pending:
        async with connection.transaction():
            await connection.execute(migration.sql.encode())
            await connection.execute(
                "insert into headgate_migration (number, name, checksum) values (%s, %s, %s)",
                (migration.number, migration.name, migration.checksum),
            )
    return pending


async def schema_status(url: str) -> SchemaStatus:
    """Tell what a migration would do, without doing it."""
    connection = await connect(url)
    async with connection:
        await check_server(connection)
        return await _status(connection)


async def check_server(connection: Connection) -> None:
    """Refuse a server that is too old."""
    version = connection.info.server_version
    if version < MIN_SERVER_VERSION:
        raise UserError(
            f"PostgreSQL {version // 10000} is too old.",
            remedy="Headgate needs 15 or newer: upgrade the server, or unset HEADGATE_DATABASE_URL to use"
            " the embedded one.",
        )


@asynccontextmanager
async def open_for_migration(url: str) -> AsyncGenerator[Connection, None]:
    """Connect, and be the only one that changes the schema within the block."""
    connection = await connect(url, name="headgate migrate")
    async with connection:
        await check_server(connection)
        await connection.execute("select pg_advisory_lock(%s)", (_LOCK,))
        yield connection


async def _status(connection: Connection) -> SchemaStatus:
    known = list_migrations()
    rows = await _read_ledger(connection)
    applied = [row for row in rows if row.number != ENGINE.number]
    _check_ledger(applied, {migration.number: migration for migration in known})
    done = {row.number for row in applied}
    return SchemaStatus(
        applied,
        pending=[migration for migration in known if migration.number not in done],
        engine=next((row for row in rows if row.number == ENGINE.number), None),
    )


async def _read_ledger(connection: Connection) -> list[Applied]:
    exists = await connection.execute("select to_regclass('headgate_migration') is not null")
    row = await exists.fetchone()
    if row is None or not row[0]:
        return []
    async with connection.cursor(row_factory=class_row(Applied)) as cursor:
        await cursor.execute("select number, name, checksum from headgate_migration order by number")
        return await cursor.fetchall()


def _check_ledger(applied: list[Applied], known: dict[int, Migration]) -> None:
    for row in applied:
        migration = known.get(row.number)
        if migration is None:
            raise UserError(
                f"The database is newer than this Headgate (it has migration {row.number} {row.name!r}).",
                remedy="Install the version that made it, or restore a backup from before.",
            )
        if migration.checksum != row.checksum:
            raise UserError(
                f"Migration {row.number} {row.name!r} was edited after it was applied.",
                remedy="Install an unmodified Headgate; migrations are never changed, only added.",
            )


async def _upgrade_engine(connection: Connection) -> None:
    engine = Queries(PsycopgDriver(connection))
    if await engine.schema_is_installed():
        await engine.apply_upgrade()
    else:
        await engine.install()
    await connection.execute(
        """
        insert into headgate_migration (number, name, checksum) values (%s, %s, %s)
        on conflict (number) do update set checksum = excluded.checksum, applied_at = excluded.applied_at
        """,
        (ENGINE.number, ENGINE.name, ENGINE.checksum),
    )
