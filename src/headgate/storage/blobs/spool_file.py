"""The file behind a spool, with blocking calls: its lock, how far it is durable, and its running hash.

Beside a file that has been synced stands its state: the synced length and the version of the source. The
state is written after the sync and need not be synced itself: an older one only costs a longer download.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from headgate.domain.errors import Transient
from headgate.storage.blobs.store import DiskFull
from headgate.storage.embedded.locks import try_lock

STATE = "@state"
_LENGTH_DIGITS = 20
"""The length stands in one disk sector, which is written whole or not at all."""
_REREAD_BYTES = 4 * 2**20
_MAX_VERSION_LENGTH = 4_000
_MAX_NAME_LENGTH = 150


def name_source(key: str) -> str:
    """Return the key of a source as part of a file's name: readable, or cut short with a hash."""
    name = quote(key, safe="")
    if len(name) <= _MAX_NAME_LENGTH:
        return name
    return f"{name[:100]}~{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def source_in(path: Path) -> str:
    """Return the `name_source` of a spool, or of what stands beside it."""
    return path.name.split("@")[1]


class RunningHash(Protocol):
    """A hash of what has come so far."""

    def update(self, chunk: bytes | memoryview, /) -> None: ...

    def digest(self) -> bytes: ...


class SpoolBusy(Transient):
    """Another process is writing this spool."""


@dataclass(frozen=True)
class Remembered:
    """What this process knows of a spool that it closed, so that its content need not be hashed again."""

    version: str
    length: int
    inode: int
    modified_ns: int
    sha256: RunningHash


class SpoolFile:
    """An open, locked spool."""

    def __init__(self, path: Path, descriptor: int, *, version: str) -> None:
        self.path = path
        self.version = version[:_MAX_VERSION_LENGTH]
        self.length = 0
        self.sync_begun = 0
        self.sha256: RunningHash = hashlib.sha256()
        self._descriptor = descriptor
        self._failed = False
        self._has_state = True
        self._state = _state_path(path)

    def write(self, chunks: Sequence[bytes]) -> None:
        """Hash and append chunks, uncopied; after a failure only `close` and `restart` are left."""
        self._failed = True
        for chunk in chunks:
            self.sha256.update(chunk)
        left = [memoryview(chunk) for chunk in chunks if chunk]
        with _explained(self.path):
            if os.fstat(self._descriptor).st_nlink > 1:
                # An object shares the file, and must not change with it.
                self._replace(self.length)
            while left:
                left = _after(left, os.writev(self._descriptor, left))
        self.length += sum(map(len, chunks))
        self._failed = False

    def sync(self) -> None:
        """Make what has been written durable, and note it."""
        length = self.sync_begun = self.length
        with _explained(self.path):
            os.fsync(self._descriptor)
            self.note_synced(length)

    def note_synced(self, length: int) -> None:
        """Note how much is durable; somebody may have synced the file under another name."""
        self._has_state = True
        text = f"{length:{_LENGTH_DIGITS}d}\n{self.version}"
        descriptor = os.open(self._state, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, text.encode(), 0)
        finally:
            os.close(descriptor)

    def restart(self) -> None:
        """Begin again with nothing; what the old file became under another name is left alone."""
        if self._has_state:
            self._state.unlink(missing_ok=True)
            self._has_state = False
        status = os.fstat(self._descriptor)
        if status.st_nlink > 1:
            self._replace(0)
        elif status.st_size:
            os.truncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
        self.length = self.sync_begun = 0
        self.sha256 = hashlib.sha256()
        self._failed = False

    def resume(self, remembered: Remembered | None) -> bool:
        """Go on after what is durable and of the same version, or begin again; tell whether it is hashed."""
        length = self._read_state()
        status = os.fstat(self._descriptor)
        if length is None or length > status.st_size or (status.st_nlink > 1 and length < status.st_size):
            self.restart()
            return True
        if length < status.st_size:
            os.truncate(self._descriptor, length)
        self.length = self.sync_begun = length
        if remembered is not None and remembered == self._remember(remembered.sha256):
            self.sha256 = remembered.sha256
            hashed = True
        else:
            hashed = length == 0
        os.lseek(self._descriptor, length, os.SEEK_SET)
        return hashed

    def close(self) -> Remembered | None:
        """Let others have it, and return what spares a second hashing."""
        try:
            return None if self._failed else self._remember(self.sha256)
        finally:
            os.close(self._descriptor)

    def abandon(self) -> None:
        """Lose the lock and the file as a killed process does; what is done with it later has no effect."""
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(nothing, self._descriptor, inheritable=False)
        os.close(nothing)

    def discard(self) -> None:
        """Remove the spool; an object that shares its content stays."""
        self.path.unlink(missing_ok=True)
        if self._has_state:
            self._state.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _read_state(self) -> int | None:
        """Return the durable length of this version, if there is any."""
        try:
            length, _, version = self._state.read_text("utf-8").partition("\n")
            return int(length) if version == self.version else None
        except FileNotFoundError:
            self._has_state = False
        except ValueError:
            pass
        return None

    def _remember(self, sha256: RunningHash) -> Remembered:
        status = os.fstat(self._descriptor)
        return Remembered(self.version, self.length, status.st_ino, status.st_mtime_ns, sha256)

    def hash_again(self) -> None:
        """Hash what is there already."""
        length = self.length
        buffer = memoryview(bytearray(min(_REREAD_BYTES, max(length, 1))))
        self.sha256 = hashlib.sha256()
        offset = 0
        while offset < length:
            count = os.preadv(self._descriptor, [buffer[: length - offset]], offset)
            self.sha256.update(buffer[:count])
            offset += count

    def _replace(self, length: int) -> None:
        """Put a new file, with so much of the old content, in the place of ours, and keep the lock."""
        fresh = Path(f"{self.path}@fresh")
        descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try_lock(descriptor, exclusive=True)
        with _explained(self.path):
            copied = 0
            while copied < length:
                chunk = os.pread(self._descriptor, min(_REREAD_BYTES, length - copied), copied)
                copied += os.write(descriptor, chunk)
        fresh.replace(self.path)
        os.close(self._descriptor)
        self._descriptor = descriptor


def open_spool_file(path: Path, *, version: str, remembered: Remembered | None) -> tuple[SpoolFile, bool]:
    """Open and lock a spool, where it was left if that can be relied on; tell whether it is hashed, too."""
    with _explained(path):
        file = SpoolFile(path, _lock(path), version=version)
    try:
        return file, file.resume(remembered)
    except BaseException:
        file.close()
        raise


def remove_if_free(path: Path) -> int:
    """Remove a spool that nobody has open; return how many bytes that frees."""
    try:
        descriptor = _lock(path)
    except (SpoolBusy, FileNotFoundError):
        return 0
    status = os.fstat(descriptor)
    SpoolFile(path, descriptor, version="").discard()
    return status.st_size if status.st_nlink == 1 else 0


def _lock(path: Path) -> int:
    """Open a file and lock it; one that was replaced or removed before we had the lock is opened anew."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if not try_lock(descriptor, exclusive=True):
            os.close(descriptor)
            raise SpoolBusy(f"Another process is writing {path.name}.")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _state_path(path: Path) -> Path:
    return Path(f"{path}{STATE}")


def _after(chunks: list[memoryview], written: int) -> list[memoryview]:
    """Return what is left of chunks after so many bytes."""
    for number, chunk in enumerate(chunks):
        if written < len(chunk):
            return [chunk[written:], *chunks[number + 1 :]]
        written -= len(chunk)
    return []


@contextmanager
def _explained(path: Path) -> Generator[None, None, None]:
    """Say of a full disk that it is full."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"The disk of {path.parent} is full.") from error
        raise
