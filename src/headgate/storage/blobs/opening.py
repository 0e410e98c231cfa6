"""Which store the settings mean, and whether it belongs to this database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from headgate.kernel.files_settings import FilesSettings
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.store import BlobStore, StoreTrouble
from headgate.storage.database import Database
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

DEFAULT_FOLDER = "blobs"


@dataclass(frozen=True)
class _Owner:
    id: UUID
    marked: bool


def open_store(settings: FilesSettings, data_dir: Path) -> BlobStore:
    """Return the store that the settings name; the folder inside the data folder is made if need be."""
    if settings.url.startswith("s3://"):
        # Imported here, because few need it.
        from headgate.storage.blobs.bucket import BucketStore

        return BucketStore(settings)
    if settings.url:
        return DiskStore(Path(settings.url))
    folder = data_dir / DEFAULT_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DiskStore(folder)


async def claim_store(database: Database, store: BlobStore, *, fresh_id: UUID, moved: bool = False) -> None:
    """Make sure that the store is this database's; the first one that it sees becomes so.

    `moved` says that a person has moved or restored the files there: then a store without a mark gets one.
    """
    async with database.autocommit() as tx:
        owner = await tx.one(_Owner, Q["get_owner"], fresh_id=fresh_id)
    if owner is None:
        raise AssertionError("the row is inserted or found")
    mark = await store.read_mark()
    if mark is None and (moved or not owner.marked):
        await store.write_mark(str(owner.id))
    elif mark is None:
        raise StoreTrouble(
            f"{store.place} is not where the files of this database are: its mark is missing.",
            remedy="Mount the disk, move the files there, or correct HEADGATE_FILES_URL.",
        )
    elif mark != str(owner.id):
        raise StoreTrouble(
            f"{store.place} holds the files of another Headgate database.",
            remedy="Give this database a folder, bucket or prefix of its own with HEADGATE_FILES_URL.",
        )
    if not owner.marked:
        async with database.autocommit() as tx:
            await tx.execute(Q["set_marked"])
