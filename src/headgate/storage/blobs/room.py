"""Room on the disk: how much may still be written, and room that is promised before the first byte.

A reservation is for what is to be written, so the spools that are being written count towards it. It is held
by a lease: what is not renewed is free again.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headgate.domain.errors import Transient
from headgate.kernel.files_settings import GIB, FilesSettings
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.database import Database, Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

RESERVATION_TTL_S = 900.0


class NoRoom(Transient):
    """There is not enough room; `missing_bytes` would have to be freed."""

    def __init__(self, message: str, *, missing_bytes: int) -> None:
        super().__init__(message)
        self.missing_bytes = missing_bytes


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
    reserved_bytes: int
    spooled_bytes: int

    @property
    def left_bytes(self) -> int:
        """What may still be reserved; below zero if the disk is fuller than it may be."""
        outstanding = max(0, self.reserved_bytes - self.spooled_bytes)
        return self.disk.free_bytes - self.kept_free_bytes - outstanding


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

    async def measure(self) -> Room:
        """Return what may be written now."""
        async with self._database.autocommit() as tx:
            reserved = await tx.value(Q["get_reserved"], machine=self._spools.machine, but="")
        return _tightest(await self._measure(), reserved)

    async def reserve(self, key: str, size_bytes: int) -> None:
        """Promise room to what has this key, or change how much; raise `NoRoom` if there is too little.

        Asking again renews it.
        """
        machine = self._spools.machine
        disks = await self._measure()
        async with self._database.transaction() as tx:
            # Two that reserve at once must not both get the last room.
            await tx.execute(Q["lock_room"], machine=machine)
            await tx.execute(Q["delete_expired"])
            others = await tx.value(Q["get_reserved"], machine=machine, but=key)
            room = _tightest(disks, others)
            if size_bytes > room.left_bytes:
                raise NoRoom(
                    f"{size_bytes} bytes do not fit: only {max(0, room.left_bytes)} may be written.",
                    missing_bytes=size_bytes - room.left_bytes,
                )
            await tx.execute(
                Q["upsert_reservation"],
                machine=machine,
                key=key,
                size_bytes=size_bytes,
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

    async def _measure(self) -> list[Room]:
        """Return the room on each disk, without what is reserved."""
        spooled = await self._spools.get_used_bytes()
        uses = [await self._spools.threads.run(_use_of, folder) for folder in self._folders]
        return [Room(use, kept_free_bytes(use, self._settings), 0, spooled) for use in uses]


def _tightest(disks: Sequence[Room], reserved_bytes: int) -> Room:
    return min(
        (replace(disk, reserved_bytes=reserved_bytes) for disk in disks), key=lambda room: room.left_bytes
    )


def _use_of(folder: Path) -> DiskUse:
    """Return the use of the disk that a folder is on, or will be on."""
    while not folder.exists():
        folder = folder.parent
    usage = shutil.disk_usage(folder)
    return DiskUse(usage.total, usage.free)
