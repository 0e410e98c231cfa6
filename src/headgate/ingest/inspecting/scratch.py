"""A folder for what is unpacked for a moment; what a killed process leaves is removed at the next start."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

FOLDER = "scratch"
"""Inside the data folder."""
_LOCK = "in-use"
_GATE = "gate"


class Scratch:
    """Folders of this process, made when they are needed and locked for as long as it lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: Path | None = None
        self._lock = -1

    @asynccontextmanager
    async def folder(self) -> AsyncGenerator[Path, None]:
        """Give an empty folder; everything in it is removed at the end."""
        made = await asyncio.to_thread(self._make)
        try:
            yield made
        finally:
            await asyncio.to_thread(shutil.rmtree, made, ignore_errors=True)

    def close(self) -> None:
        """Remove everything of this process."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._lock)
            self._own = None

    def _make(self) -> Path:
        if self._own is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with (self._folder / _GATE).open("w") as gate:
                # One process at a time: none takes a folder that is being made for an abandoned one.
                fcntl.flock(gate, fcntl.LOCK_EX)
                self._remove_abandoned()
                self._own = self._make_own()
        return Path(tempfile.mkdtemp(dir=self._own))

    def _make_own(self) -> Path:
        own = Path(tempfile.mkdtemp(dir=self._folder))
        self._lock = os.open(own / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return own

    def _remove_abandoned(self) -> None:
        for folder in self._folder.iterdir():
            if folder.is_dir() and not _is_held(folder / _LOCK):
                shutil.rmtree(folder, ignore_errors=True)


def _is_held(path: Path) -> bool:
    """Tell whether a living process holds a lock."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
