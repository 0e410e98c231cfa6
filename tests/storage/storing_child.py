"""A process that stores two files and is killed at a step: the n-th file operation or statement of its work.

Arguments: the database's address, a folder, and the settings of a bucket. The steps come line by line.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from blob_rows import make_writer, spool_of

from headgate.kernel.clock import RealClock
from headgate.kernel.files_settings import FilesSettings
from headgate.storage.blobs.opening import open_store
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.database import Database, Tx

CONTENTS = {"small": b"small content", "large": b"large content" * 200_000}
_STEPS = {"open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.truncate", "shutil.copyfile"}


class _Steps:
    """Counts steps, and kills at the chosen one."""

    def __init__(self, folder: Path, chosen: int) -> None:
        self._folder = str(folder)
        self._left = chosen

    def take(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Before each operation on a file of ours."""
        if event in _STEPS and any(self._folder in str(argument) for argument in arguments):
            self.take()


class _SteppedDatabase(Database):
    """A statement has a step before and after."""

    steps: _Steps

    @asynccontextmanager
    async def autocommit(self) -> AsyncGenerator[Tx, None]:
        self.steps.take()
        async with super().autocommit() as tx:
            yield tx
        self.steps.take()


async def store_contents(url: str, folder: Path, chosen: int, settings: FilesSettings) -> None:
    spools = SpoolFolder(folder / "spool", machine="here")
    store = open_store(settings, folder)
    await store.check()
    database = _SteppedDatabase(url, RealClock())
    database.steps = _Steps(folder, chosen)
    await database.open()
    if chosen:
        sys.addaudithook(database.steps.audit)
    writer = make_writer(database, store)
    for key, content in CONTENTS.items():
        spool = await spool_of(spools, key, content)
        await writer.store(spool)
        await spool.discard()
    await database.close()
    await spools.close()
    await store.close()


def serve() -> None:
    """Work up to the step that each line names, in a process of its own, and say how that ended."""
    # Secrets and all, as the settings file has them.
    settings = FilesSettings.model_validate(json.loads(sys.argv[3]))
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(store_contents(sys.argv[1], Path(sys.argv[2]), int(line), settings))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
