"""Who is there, told by file locks: they end with their holder, however it dies."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from headgate.domain.errors import HeadgateError

_PAUSE_S = 0.05


class GivenUp(HeadgateError):
    """The waiter gave up."""


class LockWait:
    """A wait in a thread that can be called off from outside."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def pause(self, seconds: float = _PAUSE_S) -> None:
        if self._over.wait(seconds):
            raise GivenUp("the wait for the embedded database was called off")

    def give_up(self) -> None:
        self._over.set()


def open_private(path: Path) -> int:
    """Open or make a file that belongs to the owner of its folder, also when root makes it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        folder = path.parent.stat()
        os.fchown(descriptor, folder.st_uid, folder.st_gid)
    return descriptor


def try_lock(descriptor: int, *, exclusive: bool) -> bool:
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        return False
    return True


def take_if_free(path: Path) -> int | None:
    """Return a descriptor that holds the lock alone, or nothing if anybody holds it."""
    descriptor = open_private(path)
    if try_lock(descriptor, exclusive=True):
        return descriptor
    os.close(descriptor)
    return None


def is_held(path: Path) -> bool:
    """Tell whether somebody holds the lock alone; creates nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(descriptor, exclusive=False)
    finally:
        os.close(descriptor)


@contextmanager
def serialized(path: Path, waiting: LockWait) -> Generator[None, None, None]:
    """Be the only one inside, among all processes of the machine."""
    descriptor = open_private(path)
    try:
        while not try_lock(descriptor, exclusive=True):
            waiting.pause()
        yield
    finally:
        os.close(descriptor)
