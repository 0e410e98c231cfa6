"""Objects that are to be deleted, and their deletion."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from headgate.domain.errors import Transient
from headgate.storage.blobs.store import BlobStore
from headgate.storage.database import Connection, Database, Tx, connect
from headgate.storage.errors import is_away
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


class BackupUnprotected(Transient):
    """The database forgot that a backup runs, so files may have been deleted under it."""


async def doom_unknown(tx: Tx, names: Sequence[str], *, now: datetime, keep: timedelta) -> int:
    """Doom those of some objects that no row knows; return how many."""
    return await tx.execute(Q["doom_unknown"], names=list(names), now=now, delete_at=now + keep)


async def delete_due(database: Database, store: BlobStore, *, now: datetime, limit: int) -> int:
    """Delete objects whose time has come and return how many; none while a backup or restore runs.

    A transaction is open meanwhile: a restore that begins waits for it, and then finds them gone.
    """
    async with database.transaction() as tx:
        if not await tx.value(Q["try_without_backup"]):
            return 0
        names: list[str] = await tx.column(Q["list_due"], now=now, limit=limit)
        if names:
            await store.delete(names)
            await tx.execute(Q["forget_doomed"], names=names)
    return len(names)


async def delete_objects(database: Database, store: BlobStore, names: Sequence[str]) -> None:
    """Delete doomed objects, and then their rows: a crash in between deletes them once more."""
    await store.delete(names)
    async with database.autocommit() as tx:
        await tx.execute(Q["forget_doomed"], names=list(names))


@dataclass(frozen=True)
class Protection:
    """Held by a connection, so that it ends with its process, however that dies."""

    connection: Connection

    async def confirm(self) -> None:
        """Raise if objects may have been deleted since the protection began."""
        try:
            await Tx(self.connection).execute(Q["confirm_backup"])
        except Exception as error:
            if is_away(error):
                raise BackupUnprotected("The connection that protects the files was lost.") from error
            raise


@asynccontextmanager
async def protect_for_backup(url: str) -> AsyncGenerator[Protection, None]:
    """Keep all objects while a backup or restore runs; begin it before rows are read, and confirm it last.

    What is doomed later stays until the end. What was doomed before is not in the rows that the backup reads.
    """
    connection = await connect(url, name="headgate backup of files")
    try:
        await Tx(connection).execute(Q["begin_backup"])
        yield Protection(connection)
    finally:
        await connection.close()
