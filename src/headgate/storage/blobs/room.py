"""Room on the disk: how much may still be written, and room that is promised before the first byte.

A reservation is for what is to be written. The spools of its key, and of keys below it (`set` and `set/2`),
count towards it. It is held by a lease: what is not renewed is free again, but for things that have begun to
come, which keep their room until the rest is there.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headgate.domain.errors import Transient
from headgate.kernel.files_settings import GIB, FilesSettings
from headgate.storage.blobs.spool_file import name_source
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.database import Database, Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

RESERVATION_TTL_S = 900.0
_BELOW = name_source("/")


class NoRoom(Transient):
    """There is not enough room; `missing_bytes` would have to be freed."""

    def __init__(self, message: str, *, missing_bytes: int, needed_bytes: int) -> None:
        super().__init__(message)
        self.missing_bytes = missing_bytes
        self.needed_bytes = needed_bytes
        """What is still to be written in all."""


@dataclass(frozen=True)
class _Reserved:
    key: str
    size_bytes: int


@dataclass(frozen=True)
class DiskUse:
    """The size of a disk and what is free on it."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Room:
    """What may be written, and why not more."""

    disk: DiskUse
    kept_free_bytes: int
    promised_bytes: int
    """What reservations will still take."""

    @property
    def left_bytes(self) -> int:
        """What may still be reserved; below zero if the disk is fuller than it may be."""
        return self.disk.free_bytes - self.kept_free_bytes - self.promised_bytes


def unwritten_bytes(reserved: Mapping[str, int], spooled: Mapping[str, int]) -> dict[str, int]:
    """Return what is still to be written of each reservation; `spooled` are sizes by `name_source`."""
    keys = {name_source(key): key for key in reserved}
    left = dict(reserved)
    for name, size_bytes in spooled.items():
        parts = name.split(_BELOW)
        for count in range(len(parts), 0, -1):
            if (key := keys.get(_BELOW.join(parts[:count]))) is not None:
                left[key] = max(0, left[key] - size_bytes)
                break
    return left


def kept_free_bytes(disk: DiskUse, settings: FilesSettings) -> int:
    """Return how much of a disk always stays free."""
    share = disk.total_bytes * settings.keep_free_percent / 100
    return int(max(share, settings.keep_free_gib * GIB))


class DiskRoom:
    """The room on this machine's disks: the spools', and the stored files' if they are on a disk."""

    def __init__(
        self, database: Database, spools: SpoolFolder, settings: FilesSettings, *, store_folder: Path | None
    ) -> None:
        self._database = database
        self._spools = spools
        self._settings = settings
        self._folders = [spools.folder, *([store_folder] if store_folder else [])]

    @property
    def includes_store(self) -> bool:
        """Whether stored files take room here too; in a bucket they do not."""
        return len(self._folders) > 1

    async def measure(self) -> Room:
        """Return what may be written now."""
        spooled, uses = await self._survey()
        async with self._database.autocommit() as tx:
            reserved = await self._list_reserved(tx)
        return self._tightest(uses, sum(unwritten_bytes(reserved, spooled).values()))

    async def reserve(self, key: str, size_bytes: int) -> None:
        """Promise room to what has this key, or change how much; raise `NoRoom` if there is too little.

        Asking again renews it.
        """
        await self.reserve_all({key: size_bytes})

    async def reserve_all(self, sizes: Mapping[str, int]) -> None:
        """Promise room to several at once: to all of them, or to none."""
        machine = self._spools.machine
        spooled, uses = await self._survey()
        async with self._database.transaction() as tx:
            # Two that reserve at once must not both get the last room.
            await tx.execute(Q["lock_room"], machine=machine)
            await tx.execute(Q["renew_begun"], ttl_s=RESERVATION_TTL_S)
            await tx.execute(Q["delete_expired"])
            wanted = unwritten_bytes({**await self._list_reserved(tx), **sizes}, spooled)
            needed = sum(wanted.pop(key) for key in sizes)
            room = self._tightest(uses, sum(wanted.values()))
            if needed > room.left_bytes:
                raise NoRoom(
                    f"{needed} bytes do not fit: only {max(0, room.left_bytes)} may be written.",
                    missing_bytes=needed - room.left_bytes,
                    needed_bytes=needed,
                )
            await tx.execute(
                Q["upsert_reservations"],
                machine=machine,
                keys=list(sizes),
                sizes=list(sizes.values()),
                ttl_s=RESERVATION_TTL_S,
            )

    async def renew(self, keys: Sequence[str]) -> None:
        """Hold reservations for longer."""
        async with self._database.autocommit() as tx:
            await tx.execute(
                Q["renew_reservations"],
                machine=self._spools.machine,
                keys=list(keys),
                ttl_s=RESERVATION_TTL_S,
            )

    async def shrink(self, tx: Tx, key: str, *, by_bytes: int) -> None:
        """Give back the room of a file that is stored now; the rest of its set keeps its own."""
        await tx.execute(Q["shrink_reservation"], machine=self._spools.machine, key=key, by_bytes=by_bytes)

    async def release(self, tx: Tx, keys: Sequence[str]) -> None:
        """Give back all room of these keys."""
        await tx.execute(Q["delete_reservations"], machine=self._spools.machine, keys=list(keys))

    async def _list_reserved(self, tx: Tx) -> dict[str, int]:
        rows = await tx.all(_Reserved, Q["list_reserved"], machine=self._spools.machine)
        return {row.key: row.size_bytes for row in rows}

    async def _survey(self) -> tuple[dict[str, int], list[DiskUse]]:
        """Return the sizes of spools, then the use of disks: what is written in between counts as both."""
        return await self._spools.threads.run(
            lambda: (self._spools.list_sizes(), [_use_of(folder) for folder in self._folders])
        )

    def _tightest(self, uses: Sequence[DiskUse], promised_bytes: int) -> Room:
        rooms = (Room(use, kept_free_bytes(use, self._settings), promised_bytes) for use in uses)
        return min(rooms, key=lambda room: room.left_bytes)


def _use_of(folder: Path) -> DiskUse:
    """Return the use of the disk that a folder is on, or will be on."""
    while not folder.exists():
        folder = folder.parent
    usage = shutil.disk_usage(folder)
    return DiskUse(usage.total, usage.free)
