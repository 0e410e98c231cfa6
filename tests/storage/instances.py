"""Whole instances for the tests of backups: a database, its files, and what is in them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid5

from blob_rows import content_of, list_blobs, names_in

from headgate.ingest.storing.backups import BackedUp, BackupProgress, RestoredAll, back_up, restore_all
from headgate.kernel.clock import RealClock
from headgate.kernel.files_settings import FilesSettings
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.backup.folder import BackupFolder, find_backup
from headgate.storage.blobs.blobs import Blob
from headgate.storage.blobs.opening import Files, build_files, open_store
from headgate.storage.database import Database
from headgate.storage.migrate import migrate
from headgate.storage.queries import QueryFile

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

Q = QueryFile(
    "instances",
    """
-- name: add_file
with made as (
    insert into channel (id, platform, key, kind, title, created_at)
    values (%(channel_id)s, 'simulated', 'packs', 'stream', 'Packs', %(now)s) on conflict do nothing
), seen as (
    insert into sighting (id, channel_id, message_key, attachment_key, position, file_name, size_bytes,
        mime_type, sent_at, version_at, seen_at, verdict)
    values (%(id)s, %(channel_id)s, %(key)s, 'a0', 1, 'pack.zip', 1, 'application/zip', %(now)s, %(now)s,
        %(now)s, 'kept')
)
insert into item_file (sighting_id, channel_id, state, blob_id, stored_at)
values (%(id)s, %(channel_id)s, 'stored', %(blob_id)s, %(now)s)

-- name: remove_file
delete from sighting where id = %(id)s

-- name: list_states
select s.message_key, f.state from item_file f join sighting s on s.id = f.sighting_id order by 1
""",
)


@dataclass(frozen=True)
class _State:
    message_key: str
    state: str


@dataclass(frozen=True)
class Instance:
    """A Headgate with some files."""

    files: Files
    folder: Path

    @property
    def database(self) -> Database:
        return self.files.database

    async def keep(self, text: str) -> Blob:
        """Store a file whose content is a text."""
        content = text.encode()
        spool = await self.files.spools.open("a", version="1")
        await spool.append(content)
        await spool.finish(sha256=hashlib.sha256(content).digest())
        blob = await self.files.writer.store(spool)
        await spool.discard()
        async with self.database.transaction() as tx:
            await tx.execute(
                Q["add_file"],
                id=uuid5(UUID(int=1), text),
                channel_id=UUID(int=7),
                key=text,
                blob_id=blob.id,
                now=NOW,
            )
        return blob

    async def remove(self, text: str) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(Q["remove_file"], id=uuid5(UUID(int=1), text))

    async def states(self) -> dict[str, str]:
        async with self.database.transaction() as tx:
            rows = await tx.all(_State, Q["list_states"])
        return {row.message_key: row.state for row in rows}

    async def contents(self) -> list[str]:
        """Return what is stored, read and compared with its hash."""
        found: list[str] = []
        for blob in await list_blobs(self.database):
            content = await content_of(self.files.store, blob)
            assert hashlib.sha256(content).digest() == blob.sha256
            found.append(content.decode())
        return sorted(found)

    async def objects(self) -> list[str]:
        return await names_in(self.files.store)

    async def back_up(
        self, folder: Path, *, second: int = 0, keep: int = 3, verify: bool = False
    ) -> BackedUp:
        """Take a backup at a second of its own."""
        return await back_up(
            self.files, BackupFolder(folder), taken_at=NOW.replace(second=second), keep=keep, verify=verify
        )


@asynccontextmanager
async def open_instance(
    url: str, folder: Path, settings: FilesSettings | None = None
) -> AsyncGenerator[Instance, None]:
    await migrate(url)
    clock = RealClock()
    database = Database(url, clock)
    await database.open()
    files = build_files(
        settings or FilesSettings(), folder, database, clock=clock, ids=Ids(clock, Randomness())
    )
    try:
        await files.open()
        yield Instance(files, folder)
    finally:
        await files.close()
        await database.close()


async def restore_from(
    source: Path,
    url: str,
    folder: Path,
    settings: FilesSettings | None = None,
    *,
    skip_damaged: bool = False,
    shown: BackupProgress | None = None,
) -> RestoredAll:
    """Restore as the command does."""
    clock = RealClock()
    backups, chosen = find_backup(source)
    store = open_store(settings or FilesSettings(), folder)
    try:
        return await restore_all(
            url,
            store,
            backups,
            chosen,
            scratch=folder / "restoring",
            clock=clock,
            ids=Ids(clock, Randomness()),
            skip_damaged=skip_damaged,
            shown=shown,
        )
    finally:
        await store.close()
