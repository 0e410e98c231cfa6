"""Backups of everything, database and files, and their return.

A backup dumps the database first and then copies exactly the objects that its rows name; it counts when its
manifest is written. A restore brings the objects back first and the rows last, in one transaction: a kill at
any moment leaves the old state, or the new one.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from headgate import __version__
from headgate.domain.errors import Transient, UserError
from headgate.domain.words.times import size_text
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.storage.backup.backup import backup as dump_database
from headgate.storage.backup.folder import (
    BackupFolder,
    FullBackup,
    StoredObject,
    count_placed,
    hash_file,
    read_objects,
    read_store_id,
)
from headgate.storage.backup.objects import Copier
from headgate.storage.backup.restore import (
    Restored,
    StoreOwner,
    get_owner,
    note_damaged,
    restore,
    set_owner,
)
from headgate.storage.blobs.blobs import list_blobs_named
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.doomed import protect_for_backup
from headgate.storage.blobs.opening import Files, claim_store
from headgate.storage.blobs.store import BlobStore, StoreTrouble
from headgate.storage.database import Database, Tx, connect
from headgate.storage.library.damage import condemn_blobs

log = get_logger("backup")

KEEP_BACKUPS = 3
_MOST_NAMED = 3

OnRows = Callable[[float], None]
"""Told how much of the database is done, from 0 to 1."""
OnFiles = Callable[[int, int], None]
"""Told how many bytes of files are done, and how many there are."""


@dataclass(frozen=True)
class BackupProgress:
    """Where progress is told."""

    on_rows: OnRows = lambda _part: None
    on_files: OnFiles = lambda _done, _total: None


@dataclass(frozen=True)
class BackedUp:
    """What a backup did."""

    backup: FullBackup
    copied: int
    copied_bytes: int
    removed: list[str]
    """Older backups that gave way."""
    in_place: int = 0
    """Files that were imported in place, and are not in the backup."""


@dataclass(frozen=True)
class RestoredAll:
    """What a restore did."""

    database: Restored
    copied: int
    copied_bytes: int
    damaged: list[str]
    """Objects that neither the backup nor the store has whole."""


async def back_up(
    files: Files,
    folder: BackupFolder,
    *,
    taken_at: datetime,
    keep: int = KEEP_BACKUPS,
    verify: bool = False,
    shown: BackupProgress | None = None,
) -> BackedUp:
    """Take a backup; what earlier ones have copied is not copied again.

    `verify` reads what they have copied, and replaces what is damaged.
    """
    shown = shown or BackupProgress()
    await files.store.check()
    await claim_store(files.database, files.store, fresh_id=files.ids.new())
    name = f"{taken_at:%Y%m%dT%H%M%SZ}"
    with _explained(folder.folder), folder.begin(name):
        async with (
            protect_for_backup(files.database.url) as protection,
            _disk_store(folder.files) as target,
        ):
            manifest = await dump_database(
                files.database.url, folder.dump_of(name), taken_at=taken_at, on_progress=shown.on_rows
            )
            copying = _Copying(files.store, target, folder.copying, shown.on_files)
            copied = await copying.copy(folder.dump_of(name), verify=verify)
            await protection.confirm()
        if copied.damaged:
            # If the disk was unmounted meanwhile, this is no backup.
            await claim_store(files.database, files.store, fresh_id=files.ids.new())
        dump = folder.dump_of(name)
        backup = FullBackup(
            name=name,
            taken_at=manifest.taken_at,
            headgate=__version__,
            dump_bytes=dump.stat().st_size,
            dump_sha256=await asyncio.to_thread(hash_file, dump),
            files=copied.total,
            size_bytes=copied.total_bytes,
            damaged=copied.damaged,
        )
        folder.write(backup)
        removed = await _remove_old(folder, keep=keep)
    in_place = await asyncio.to_thread(count_placed, dump)
    return BackedUp(backup, copied.copied, copied.copied_bytes, removed, in_place)


async def _remove_old(folder: BackupFolder, *, keep: int) -> list[str]:
    """Remove all but the newest backups, and then the files that none of those names."""
    backups = folder.list_backups()
    for backup in backups[keep:]:
        folder.remove(backup)
    named = {each.name for backup in backups[:keep] for each in read_objects(folder.dump_of(backup.name))}
    async with _disk_store(folder.files) as store:
        async for names in store.list_names():
            await store.delete([name for name in names if name not in named])
    return [backup.name for backup in backups[keep:]]


async def restore_database(
    url: str, source: Path, *, replace: bool, keep_old: bool, on_progress: OnRows
) -> Restored:
    """Restore a dump of the database alone; the store that is there stays."""
    return await restore(url, source, replace=replace, keep_old=keep_old, on_progress=on_progress)


async def restore_all(
    url: str,
    store: BlobStore,
    folder: BackupFolder,
    backup: FullBackup,
    *,
    scratch: Path,
    clock: Clock,
    ids: Ids,
    keep_old: bool = True,
    skip_damaged: bool = False,
    shown: BackupProgress | None = None,
) -> RestoredAll:
    """Put a backup in the place of what the instance has; it may run meanwhile.

    `skip_damaged` restores a backup that is not whole, and leaves out the files that it does not have.
    """
    shown = shown or BackupProgress()
    dump = folder.dump_of(backup.name)
    await asyncio.to_thread(_check_dump, dump, backup)
    await store.check()
    owner = await _choose_owner(url, store, dump, fresh_id=ids.new())
    async with _disk_store(folder.files) as source:
        await _check_present(source, dump, backup, skip_damaged=skip_damaged)
        scratch = store.folder / scratch.name if isinstance(store, DiskStore) else scratch
        with _explained(scratch.parent), _folder(scratch):
            # The restore takes over the protection, and ends all other connections.
            async with protect_for_backup(url) as protection:
                copying = _Copying(source, store, scratch, shown.on_files)
                copied = await copying.copy(dump, verify=True)
                _refuse_damaged(copied.damaged, backup, skip_damaged=skip_damaged)
                now = clock.now()

                async def finish(tx: Tx) -> None:
                    await protection.confirm()
                    await set_owner(tx, owner)
                    await note_damaged(tx, copied.damaged, now=now)

                restored = await restore(
                    url, dump, replace=True, keep_old=keep_old, finish=finish, on_progress=shown.on_rows
                )
    await _settle(url, store, copied.damaged, clock=clock, fresh_id=owner.id)
    return RestoredAll(restored, copied.copied, copied.copied_bytes, copied.damaged)


async def _settle(url: str, store: BlobStore, damaged: list[str], *, clock: Clock, fresh_id: UUID) -> None:
    """Mark a store that was empty, and let files be fetched that no copy is left of."""
    database = Database(url, clock, size=1, name="headgate restore")
    await database.open()
    try:
        await claim_store(database, store, fresh_id=fresh_id)
        async with database.transaction() as tx:
            blob_ids = await list_blobs_named(tx, damaged)
        await condemn_blobs(database, blob_ids, now=clock.now())
    finally:
        await database.close()


async def _choose_owner(url: str, store: BlobStore, dump: Path, *, fresh_id: UUID) -> StoreOwner:
    """Return the mark that the restored database expects in the store; refuse the store of another."""
    mark = await store.read_mark()
    if mark is None:
        return StoreOwner(fresh_id, marked=False)
    async with await connect(url, name="headgate restore") as connection:
        current = await get_owner(Tx(connection))
    if mark not in (current and str(current.id), read_store_id(dump)):
        raise StoreTrouble(
            f"{store.place} holds the files of another Headgate database.",
            remedy="Nothing was changed. Set HEADGATE_FILES_URL to a folder, bucket or prefix of its own.",
        )
    return StoreOwner(UUID(mark), marked=True)


def _check_dump(dump: Path, backup: FullBackup) -> None:
    if not dump.exists() or hash_file(dump) != backup.dump_sha256:
        raise UserError(
            f"The dump of the database, {dump}, is missing or damaged.",
            remedy="Nothing was changed. Restore another backup of the same folder by naming its own folder.",
        )


async def _check_present(source: DiskStore, dump: Path, backup: FullBackup, *, skip_damaged: bool) -> None:
    """Look whether all files are there, before anything is copied."""
    missing = await asyncio.to_thread(_list_missing, source.folder, read_objects(dump))
    _refuse_damaged([each.name for each in missing], backup, skip_damaged=skip_damaged)


def _refuse_damaged(damaged: Iterable[str], backup: FullBackup, *, skip_damaged: bool) -> None:
    known = set(backup.damaged)
    found = sorted(name for name in damaged if name not in known)
    if found and not skip_damaged:
        named = ", ".join(found[:_MOST_NAMED]) + (" …" if len(found) > _MOST_NAMED else "")
        raise UserError(
            f"{len(found):,} files of the backup are missing or damaged: {named}.",
            remedy="Nothing was changed. Restore another backup or another copy of this one; or use"
            " --skip-damaged to restore everything else and fetch these again where possible.",
        )


@dataclass(frozen=True)
class _Copied:
    total: int
    total_bytes: int
    copied: int
    copied_bytes: int
    damaged: list[str]


@dataclass(frozen=True)
class _Copying:
    """The objects of a dump on their way from one store to another."""

    source: BlobStore
    target: BlobStore
    scratch: Path
    on_files: OnFiles

    async def copy(self, dump: Path, *, verify: bool) -> _Copied:
        """Copy what the target does not have; `verify` reads what it has, too."""
        objects = list(read_objects(dump))
        missing = await self._list_missing(objects)
        self._check_room(missing)
        total_bytes = _sum_bytes(objects)
        done = total_bytes - _sum_bytes(objects if verify else missing)

        def advance(count: int) -> None:
            nonlocal done
            done += count
            self.on_files(done, total_bytes)

        advance(0)
        copier = Copier(self.source, self.target, self.scratch, advance)
        if verify:
            known = {each.name for each in missing}
            missing += await copier.list_broken(each for each in objects if each.name not in known)
        await copier.copy(missing)
        lost = set(copier.damaged)
        copied = [each for each in missing if each.name not in lost]
        return _Copied(len(objects), total_bytes, len(copied), _sum_bytes(copied), sorted(lost))

    async def _list_missing(self, objects: list[StoredObject]) -> list[StoredObject]:
        if isinstance(self.target, DiskStore):
            return await asyncio.to_thread(_list_missing, self.target.folder, objects)
        found = {name async for names in self.target.list_names() for name in names}
        return [each for each in objects if each.name not in found]

    def _check_room(self, missing: list[StoredObject]) -> None:
        needed = _sum_bytes(missing)
        if not isinstance(self.target, DiskStore):
            return
        free = shutil.disk_usage(self.target.folder).free
        if needed > free:
            raise UserError(
                f"{size_text(needed)} have to be copied to {self.target.place}, and only {size_text(free)}"
                " are free there.",
                remedy="Free some room, or choose another disk.",
            )


def _sum_bytes(objects: Iterable[StoredObject]) -> int:
    return sum(each.size_bytes for each in objects)


def _list_missing(folder: Path, objects: Iterable[StoredObject]) -> list[StoredObject]:
    """Return the objects that a folder does not have in their size."""
    return [each for each in objects if _size_of(folder / each.name) != each.size_bytes]


def _size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


@asynccontextmanager
async def _disk_store(folder: Path) -> AsyncGenerator[DiskStore, None]:
    store = DiskStore(folder)
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def _folder(path: Path) -> Generator[None, None, None]:
    """Have an empty folder within the block."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700, parents=True)
    try:
        yield
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _explained(folder: Path) -> Generator[None, None, None]:
    """Say what went wrong with a disk or a connection, and that the next attempt goes on from here."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{folder} cannot be used: {error.strerror or error}.",
            remedy="Check the disk space and the permissions there, then run the command again.",
        ) from error
    except Transient as error:
        raise UserError(
            f"It was broken off: {error}", remedy="Run the command again; what is copied is not copied again."
        ) from error
