"""A folder of objects: a finished spool becomes an object by a hard link; then file and folder are synced."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from headgate.domain.errors import UserError
from headgate.storage.blobs.store import (
    CHUNK_BYTES,
    DiskFull,
    NotDurable,
    ObjectDamaged,
    ObjectMissing,
    StoreAway,
    StoreTrouble,
    Upload,
    is_object_name,
)
from headgate.storage.blobs.threads import Threads

MARK = "headgate-store"
SYNCS_TOGETHER = 2
"""Syncs at the same time share what the file system writes; fewer than this are not worth a thread."""
_PROBE = "headgate-check"
_PART = ".part"
_FULL = {errno.ENOSPC, errno.EDQUOT}
_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}
"""How file systems refuse a link: another disk, none at all, or too many."""


class DiskStore:
    """Objects as files in 256 folders."""

    def __init__(self, folder: Path, *, make: bool = False, threads: int = 8) -> None:
        self._folder = folder
        self._make = make
        self.threads = Threads("blobs", size=threads)
        self._durable: set[Path] = set()
        """Folders whose own entries this process has synced; another process may not have come that far."""

    @property
    def place(self) -> str:
        return str(self._folder)

    @property
    def folder(self) -> Path:
        return self._folder

    async def put(self, uploads: Sequence[Upload]) -> dict[str, Exception]:
        if not uploads:
            return {}
        failed = await self.threads.run(self._place_all, uploads)
        made = [upload for upload in uploads if upload.object_name not in failed]
        paths = [self._path(upload.object_name) for upload in made]
        # The order does not matter: nothing reads the objects before their rows are committed.
        to_sync = [*paths, *sorted({folder for path in paths for folder in self._to_sync(path)})]
        shares = min(self.threads.size, -(-len(to_sync) // SYNCS_TOGETHER))
        errors = await asyncio.gather(
            *(self.threads.run(_sync_all, to_sync[share::shares]) for share in range(shares)),
            return_exceptions=True,
        )
        for error in errors:
            if isinstance(error, BaseException):
                # One sync stands for several objects, so none of them is sure to be durable.
                reason = NotDurable(f"{self._folder} could not be synced: {error}")
                return failed | {upload.object_name: reason for upload in made}
        self._durable.update(path.parent for path in paths)
        return failed

    async def read(self, name: str, *, start: int, end: int) -> AsyncGenerator[bytes, None]:
        if start >= end:
            return
        descriptor = await self.threads.run(self._open, name)
        try:
            while start < end:
                chunk = await self.threads.run(_read_at, descriptor, min(CHUNK_BYTES, end - start), start)
                if not chunk:
                    raise ObjectDamaged(f"The object {name} ends at byte {start}, before byte {end}.")
                start += len(chunk)
                yield chunk
        finally:
            os.close(descriptor)

    def local_path(self, name: str) -> Path | None:
        return self._path(name)

    async def get_size(self, name: str) -> int | None:
        return await self.threads.run(_size_of, self._path(name))

    async def delete(self, names: Sequence[str]) -> None:
        await self.threads.run(self._delete_all, names)

    async def list_names(self) -> AsyncGenerator[list[str], None]:
        for folder in await self.threads.run(_folders_in, self._folder):
            if names := await self.threads.run(_names_in, folder):
                yield names

    async def read_mark(self) -> str | None:
        try:
            # A person may have written it, with a line break.
            return (await self.threads.run((self._folder / MARK).read_text, "utf-8")).strip()
        except FileNotFoundError:
            return None

    async def write_mark(self, mark: str) -> None:
        await self.threads.run(_write_small, self._folder / MARK, mark)

    async def check(self) -> None:
        await self.threads.run(self._check)

    async def close(self) -> None:
        self.threads.close()

    def _path(self, name: str) -> Path:
        if not is_object_name(name):
            raise ValueError(f"not the name of an object: {name!r}")
        return self._folder / name

    def _to_sync(self, path: Path) -> Iterator[Path]:
        """Yield the folders to sync for a new object: its own, and the one above if its own may be new."""
        yield path.parent
        if path.parent not in self._durable:
            yield self._folder

    def _place_all(self, uploads: Sequence[Upload]) -> dict[str, Exception]:
        failed: dict[str, Exception] = {}
        for upload in uploads:
            try:
                self._place(upload)
            except OSError as error:
                failed[upload.object_name] = _explained(error, self._folder)
        return failed

    def _place(self, upload: Upload) -> None:
        target = self._path(upload.object_name)
        try:
            _link(upload.path, target)
        except FileNotFoundError:
            # The store's own folder is never made here: it would appear where a disk is not mounted.
            target.parent.mkdir(exist_ok=True)
            _link(upload.path, target)

    def _open(self, name: str) -> int:
        try:
            return os.open(self._path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise ObjectMissing(f"The object {name} is not in {self._folder}.") from None

    def _delete_all(self, names: Sequence[str]) -> None:
        for name in names:
            path = self._path(name)
            path.unlink(missing_ok=True)
            Path(f"{path}{_PART}").unlink(missing_ok=True)

    def _check(self) -> None:
        if not (self._make or self._folder.is_dir()):
            raise StoreTrouble(
                f"The folder for stored files, {self._folder}, does not exist.",
                remedy="Make it or mount its disk, or set HEADGATE_FILES_URL to another folder.",
            )
        try:
            self._folder.mkdir(mode=0o700, parents=self._make, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, prefix=_PROBE) as probe:
                probe.write(b"check")
                probe.flush()
                os.fsync(probe.fileno())
        except OSError as error:
            raise explain_folder_error(error, self._folder) from error


def explain_folder_error(error: OSError, folder: Path) -> UserError:
    """Say why nothing can be written in a folder, and what to do."""
    if error.errno == errno.EROFS:
        return StoreTrouble(
            f"The folder for stored files, {folder}, is on a read-only disk.",
            remedy="Mount the disk for writing.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return StoreTrouble(
            f"Headgate may not write in the folder for stored files, {folder}.",
            remedy="Give the folder to the user that Headgate runs as.",
        )
    if error.errno in _FULL:
        return StoreTrouble(
            f"The disk of {folder} is full.", remedy="Free some room, or move the files to a larger disk."
        )
    return StoreTrouble(
        f"The folder for stored files, {folder}, cannot be used: {error.strerror}.",
        remedy="Check the disk.",
    )


def _explained(error: OSError, folder: Path) -> Exception:
    """Return what an error of the disk means to an upload."""
    if error.errno in _FULL:
        return DiskFull(f"The disk of {folder} is full.")
    return StoreAway(f"{folder} could not be written: {error}")


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, which costs no room; copy it where there are no links."""
    try:
        os.link(source, target)
    except FileExistsError:
        # Only this upload has the name, so it is the same file: a `put` that was interrupted.
        if not target.samefile(source):
            raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    part = Path(f"{target}{_PART}")
    try:
        shutil.copyfile(source, part)
        _sync(part)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _sync_all(paths: Sequence[Path]) -> None:
    for path in paths:
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_at(descriptor: int, count: int, start: int) -> bytes:
    try:
        return os.pread(descriptor, count, start)
    except OSError as error:
        if error.errno == errno.EIO:
            raise ObjectDamaged(f"The disk cannot read byte {start} of an object.") from error
        raise


def _size_of(path: Path) -> int | None:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return None


def _folders_in(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if len(entry.name) == 2 and entry.is_dir())


def _names_in(folder: Path) -> list[str]:
    """Return the objects in one of the folders; a copy that was broken off counts as its object."""
    paths = (f"{folder.name}/{path.name}" for path in folder.iterdir())
    return sorted({name for path in paths if is_object_name(name := path.removesuffix(_PART))})


def _write_small(path: Path, text: str) -> None:
    """Write a file that appears whole; several processes may do so at once."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    Path(draft).replace(path)
    _sync(path.parent)
