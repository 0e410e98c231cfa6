"""Spools: content on its way into a store, appended as it arrives and hashed in passing.

A spool's name tells its machine and its source. A download that is broken off goes on where the last sync
was, with the content before it hashed again; in the process that closed the spool, without. Elsewhere, or if
the source has changed, it begins again.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote
from uuid import uuid4

from headgate.domain.errors import Transient
from headgate.storage.blobs.spool_file import (
    Remembered,
    SpoolFile,
    name_source,
    open_spool_file,
    remove_if_free,
    source_in,
)
from headgate.storage.blobs.store import DiskFull
from headgate.storage.blobs.threads import Threads

FOLDER = "spool"
"""Inside the data folder."""
BATCH_BYTES = 2**19
"""Chunks are written when so much has come; a spool holds two batches in memory at most.

Few enough bytes to be in the processor's cache still: four MiB took twice as long.
"""
BATCH_CHUNKS = 512
SHORT_BYTES = 2**16
"""To write this much takes about as long as to wake a thread."""
SYNC_EVERY_BYTES = 64 * 2**20
_MAX_REMEMBERED = 1_000
_MACHINE = "machine"
_ASK_AT_ONCE = 1_000

ListWanted = Callable[[Sequence[str]], Awaitable[Collection[str]]]
"""Returns those of some spools, by `name_source`, whose sources are wanted still."""


class WrongContent(Transient):
    """What arrived is not what the source said that it has."""


class Spool:
    """One file on its way; used by one task at a time."""

    def __init__(self, folder: SpoolFolder, file: SpoolFile) -> None:
        self._folder = folder
        self._file = file
        self._length = file.length
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._writing: asyncio.Future[None] | None = None
        self._syncing: asyncio.Future[None] | None = None
        self._open = True

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def length(self) -> int:
        """How much has arrived; a download goes on from here."""
        return self._length

    @property
    def sha256(self) -> bytes:
        """The hash of everything, after `finish`."""
        return self._file.sha256.digest()

    async def append(self, chunk: bytes) -> None:
        """Take the next bytes, which must not change any more; waits while the disk is behind."""
        self._pending.append(chunk)
        self._pending_bytes += len(chunk)
        self._length += len(chunk)
        if self._pending_bytes >= BATCH_BYTES or len(self._pending) >= BATCH_CHUNKS:
            await self._hand_over()

    async def finish(self, *, size_bytes: int | None = None, sha256: bytes | None = None) -> None:
        """Write the rest and compare with what the source promised; then the content can be stored.

        Too little stays as it is, for the rest to be asked for; anything else that is wrong is thrown away.
        """
        await self.flush()
        await self._compare(size_bytes)
        if sha256 is not None and self.sha256 != sha256:
            await self.restart()
            raise WrongContent("The content does not have the promised SHA-256.")

    async def finish_later(self, *, size_bytes: int | None = None) -> None:
        """Finish without waiting for the disk, so that the next source can be asked; `flush` waits."""
        await self._compare(size_bytes)
        if self._pending:
            await self._hand_over()

    async def until_written(self) -> None:
        """Wait while the disk is behind; what went wrong is told by `flush`."""
        if self._writing is not None:
            await asyncio.wait({self._writing})

    async def flush(self) -> None:
        """Write everything that has arrived."""
        if self._pending:
            await self._hand_over()
        await self._settle()

    async def restart(self) -> None:
        """Throw away what has arrived and begin at 0."""
        self._pending, self._pending_bytes = [], 0
        await self._settle(ignore_errors=True)
        await self._folder.threads.run(self._file.restart)
        self._length = 0

    async def note_stored(self) -> None:
        """Note that the store has made the content durable: after a crash nothing is asked for again."""
        await self._folder.threads.run(self._file.note_synced, self._length)

    async def close(self) -> None:
        """Make what has arrived durable, and let go of it; opening it again goes on from here.

        What a full disk has not taken is lost; the rest stays. A spool without content goes.
        """
        if not self._open:
            return
        try:
            await self._write_rest()
            if self._length == 0:
                await self.discard()
                return
            await self._folder.threads.run(self._file.sync)
        except DiskFull:
            # How far it is durable cannot be noted: the note before counts.
            pass
        finally:
            if self._open:
                await self._let_go()
                self._folder.remember(self.path, self._file.close())

    async def discard(self) -> None:
        """Remove the spool: its content is stored, or not wanted any more."""
        await self._folder.discard_all([self])

    async def give_up(self) -> SpoolFile:
        """Return the file to whoever removes it."""
        await self._let_go()
        return self._file

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _write_rest(self) -> None:
        try:
            await self.flush()
        except DiskFull:
            self._length = self._file.length

    async def _let_go(self) -> None:
        self._open = False
        await self._settle(ignore_errors=True)
        self._folder.let_go(self._file)

    async def _compare(self, size_bytes: int | None) -> None:
        """Compare what has come with the promised size; too much of it is thrown away."""
        if size_bytes is not None and self._length < size_bytes:
            raise WrongContent(f"{self._length} of {size_bytes} bytes arrived.")
        if size_bytes is not None and self._length > size_bytes:
            await self.restart()
            raise WrongContent(f"More than the promised {size_bytes} bytes arrived.")

    async def _hand_over(self) -> None:
        """Give the pending chunks to a thread once it has written the ones before."""
        await _wait_for(self._writing)
        pending, pending_bytes = self._pending, self._pending_bytes
        self._pending, self._pending_bytes = [], 0
        threads = self._folder.threads
        start = threads.start_short if pending_bytes <= SHORT_BYTES else threads.start
        self._writing = start(self._file.write, pending)
        if self._file.length - self._file.sync_begun >= self._folder.sync_every_bytes:
            await _wait_for(self._syncing)
            self._syncing = self._folder.threads.start(self._file.sync)

    async def _settle(self, *, ignore_errors: bool = False) -> None:
        """Wait for the threads that have the file; every use of it comes after."""
        for work in (self._writing, self._syncing):
            try:
                await _wait_for(work)
            except (OSError, Transient):
                if not ignore_errors:
                    raise
        self._writing = self._syncing = None


class SpoolFolder:
    """All spools of one folder, and the threads that write them."""

    def __init__(
        self,
        folder: Path,
        *,
        machine: str | None = None,
        sync_every_bytes: int = SYNC_EVERY_BYTES,
        threads: int = 8,
    ) -> None:
        self._folder = folder
        self._named = machine
        self._remembered: OrderedDict[Path, Remembered] = OrderedDict()
        self._opened: set[SpoolFile] = set()
        self.sync_every_bytes = sync_every_bytes
        self.threads = Threads("spool", size=threads)

    @property
    def folder(self) -> Path:
        return self._folder

    @cached_property
    def machine(self) -> str:
        """Whose disk this is: an ID that stays with the folder, because containers change their names."""
        return quote(self._named or _read_machine(self._folder), safe="")

    async def open(self, key: str, *, version: str) -> Spool:
        """Open the spool of a source where it was left, or anew if the version of the source is another."""
        opened = (await self.open_all({key: version}))[key]
        if isinstance(opened, Exception):
            raise opened
        return opened

    async def open_all(self, versions: Mapping[str, str]) -> dict[str, Spool | Exception]:
        """Open the spools of several sources in one go; one that cannot be opened is told by its error."""
        paths = {key: self._folder / f"{self.machine}@{name_source(key)}" for key in versions}
        given = [(path, versions[key], self._remembered.pop(path, None)) for key, path in paths.items()]
        opened = await self.threads.run_short(self._open_each, given)
        return {
            key: await self._begin(*each) if isinstance(each, tuple) else each
            for key, each in zip(paths, opened, strict=True)
        }

    async def discard_all(self, spools: Sequence[Spool]) -> None:
        """Remove several spools in one go."""
        files = [await spool.give_up() for spool in spools if spool.is_open]
        await self.threads.run_short(_discard_each, files)

    def abandon(self) -> None:
        """Lose all open spools as a killed process does."""
        for file in list(self._opened):
            file.abandon()
        self._opened.clear()

    def let_go(self, file: SpoolFile) -> None:
        """Note that a spool is not open any more."""
        self._opened.discard(file)

    async def clean_up(self, list_wanted: ListWanted) -> int:
        """Remove what was left behind, but for the sources that are wanted still; return the bytes freed.

        Asks about the spools that are there: what is wanted in all may be far more.
        """
        files = await self.threads.run(self._list_files)
        names = sorted({source_in(path) for path in files})
        wanted: set[str] = set()
        for first in range(0, len(names), _ASK_AT_ONCE):
            wanted.update(await list_wanted(names[first : first + _ASK_AT_ONCE]))
        return await self.threads.run(_remove_left, [path for path in files if source_in(path) not in wanted])

    async def get_sizes(self) -> dict[str, int]:
        """Return what the spools of this machine take by `name_source`, without what objects share."""
        return await self.threads.run(self.list_sizes)

    def remember(self, path: Path, remembered: Remembered | None) -> None:
        """Keep what spares a second hashing, of the latest spools."""
        if remembered is not None:
            self._remembered[path] = remembered
            while len(self._remembered) > _MAX_REMEMBERED:
                self._remembered.popitem(last=False)

    async def close(self) -> None:
        self.threads.close()

    async def _begin(self, file: SpoolFile, hashed: bool) -> Spool:
        if not hashed:
            await self.threads.run(file.hash_again)
        self._opened.add(file)
        return Spool(self, file)

    def _open_each(
        self, given: Sequence[tuple[Path, str, Remembered | None]]
    ) -> list[tuple[SpoolFile, bool] | Exception]:
        opened: list[tuple[SpoolFile, bool] | Exception] = []
        for path, version, remembered in given:
            try:
                opened.append(self._open(path, version, remembered))
            except (OSError, Transient) as error:
                opened.append(error)
        return opened

    def _open(self, path: Path, version: str, remembered: Remembered | None) -> tuple[SpoolFile, bool]:
        try:
            return open_spool_file(path, version=version, remembered=remembered)
        except FileNotFoundError:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return open_spool_file(path, version=version, remembered=remembered)

    def list_sizes(self) -> dict[str, int]:
        """Return the same, for a thread of the caller's."""
        sizes: dict[str, int] = {}
        for path in self._list_files():
            machine, _, name = path.name.partition("@")
            if machine != self.machine or "@" in name:
                continue
            with suppress(FileNotFoundError):
                status = path.stat()
                sizes[name] = status.st_size if status.st_nlink == 1 else 0
        return sizes

    def _list_files(self) -> list[Path]:
        """Return spools and what stands beside them; nothing else that may be in the folder."""
        return sorted(path for path in self._folder.glob("*@*") if path.is_file() and not path.is_symlink())


def _discard_each(files: Sequence[SpoolFile]) -> None:
    for file in files:
        file.discard()


def _remove_left(paths: Sequence[Path]) -> int:
    freed = 0
    for path in paths:
        if path.name.count("@") == 1:
            freed += remove_if_free(path)
        elif not path.with_name(path.name.rpartition("@")[0]).exists():
            path.unlink(missing_ok=True)
    return freed


def _read_machine(folder: Path) -> str:
    """Return the ID of the machine whose disk the folder is on, made when it is first asked for."""
    with suppress(FileNotFoundError):
        return (folder / _MACHINE).read_text("utf-8")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = folder / f"{_MACHINE}-{uuid4().hex}"
    with draft.open("w", encoding="utf-8") as file:
        file.write(uuid4().hex)
        file.flush()
        os.fsync(file.fileno())
    try:
        # The first of several processes decides.
        os.link(draft, folder / _MACHINE)
    except FileExistsError:
        pass
    except OSError:
        draft.replace(folder / _MACHINE)
    draft.unlink(missing_ok=True)
    return (folder / _MACHINE).read_text("utf-8")


async def _wait_for(work: asyncio.Future[None] | None) -> None:
    """Wait for a thread without cancelling what it does; raise what went wrong in it."""
    if work is not None:
        await asyncio.wait({work})
        work.result()
