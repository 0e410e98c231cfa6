"""The files of this instance: the store that the settings mean, whether it is ours, and the way into it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from headgate.kernel.clock import Clock
from headgate.kernel.files_settings import FilesSettings
from headgate.kernel.ids import Ids
from headgate.storage.blobs.disk import MARK, DiskStore
from headgate.storage.blobs.places import PlacedStore
from headgate.storage.blobs.room import DiskRoom
from headgate.storage.blobs.spools import FOLDER, SpoolFolder
from headgate.storage.blobs.store import BlobStore, StoreTrouble
from headgate.storage.blobs.writer import BlobWriter
from headgate.storage.database import Database
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

DEFAULT_FOLDER = "blobs"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class _Owner:
    id: UUID
    marked: bool


def open_store(settings: FilesSettings, data_dir: Path) -> BlobStore:
    """Return the store that the settings name; `check` makes the folder inside the data folder."""
    if settings.url.startswith("s3://"):
        # Imported here, because few need it.
        from headgate.storage.blobs.bucket import BucketStore

        return BucketStore(settings)
    if settings.url:
        return DiskStore(Path(settings.url))
    return DiskStore(data_dir / DEFAULT_FOLDER, make=True)


@dataclass(frozen=True)
class Files:
    """Stored content, and the way into it; a process has one.

    The spool of a file that is being fetched has the sighting's id as its key. Other spools are not gone on
    with after their process has ended.
    """

    store: PlacedStore
    spools: SpoolFolder
    writer: BlobWriter
    room: DiskRoom
    keep_unused: timedelta
    database: Database
    ids: Ids

    async def open(self) -> None:
        """Make sure that the store can be used and is ours, and remove spools that were left behind."""
        await self.store.check()
        await claim_store(self.database, self.store, fresh_id=self.ids.new())
        await self.spools.clean_up(self._list_wanted)

    async def close(self) -> None:
        await self.store.close()
        await self.spools.close()

    async def _list_wanted(self, names: Sequence[str]) -> Collection[str]:
        ids = [name for name in names if _ID.fullmatch(name)]
        async with self.database.autocommit() as tx:
            return await tx.column(Q["list_wanted_spools"], ids=ids)


def build_files(
    settings: FilesSettings, data_dir: Path, database: Database, *, clock: Clock, ids: Ids
) -> Files:
    """Put together what the settings name; nothing is opened."""
    store = open_store(settings, data_dir)
    spools = SpoolFolder(data_dir / FOLDER)
    folder = store.folder if isinstance(store, DiskStore) else None
    return Files(
        PlacedStore(store),
        spools,
        BlobWriter(database, store, ids=ids, clock=clock),
        DiskRoom(database, spools, settings, store_folder=folder),
        timedelta(hours=settings.keep_unused_h),
        database,
        ids,
    )


@asynccontextmanager
async def opened(files: Files) -> AsyncGenerator[None, None]:
    """Have the files open within the block."""
    try:
        await files.open()
        yield
    finally:
        await files.close()


async def claim_store(database: Database, store: BlobStore, *, fresh_id: UUID) -> None:
    """Make sure that the store is this database's; the first one that it sees becomes so."""
    async with database.autocommit() as tx:
        owner = await tx.one(_Owner, Q["get_owner"], fresh_id=fresh_id)
    if owner is None:
        raise AssertionError("the row is inserted or found")
    mark = await store.read_mark()
    if mark is None and not owner.marked:
        await store.write_mark(str(owner.id))
    elif mark is None:
        raise StoreTrouble(
            f"{store.place} is not where the files of this database are: its mark is missing.",
            remedy="Mount the disk, move the files there, or correct HEADGATE_FILES_URL. If the files are"
            f" there and only the mark was lost, write {owner.id} into {MARK} beside them.",
        )
    elif mark != str(owner.id):
        raise StoreTrouble(
            f"{store.place} holds the files of another Headgate database.",
            remedy="Give this database a folder, bucket or prefix of its own with HEADGATE_FILES_URL.",
        )
    if not owner.marked:
        async with database.autocommit() as tx:
            await tx.execute(Q["set_marked"])
