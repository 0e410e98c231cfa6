"""A process that backs up or restores and is killed at a step: the n-th operation on a file of its work.

Arguments: `backup` or `restore`, the database's address, the data folder, the folder of the backups. The
steps come line by line. The dump is opened for each table, so only some of these count.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from instances import open_instance, restore_from

_STEPS = {"open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "os.truncate"}
_EVERY = 60


class Steps:
    """Counts steps, and kills at the chosen one."""

    def __init__(self, folders: list[str], chosen: int) -> None:
        self._folders = folders
        self._left = chosen
        self._dumps = 0

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Before each operation on a file of ours."""
        named = " ".join(str(argument) for argument in arguments)
        if event not in _STEPS or not any(folder in named for folder in self._folders):
            return
        if event == "open" and "database.backup" in named:
            self._dumps += 1
            if self._dumps % _EVERY:
                return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def work(what: str, url: str, data: Path, backups: Path, steps: Steps) -> None:
    if what == "restore":
        sys.addaudithook(steps.audit)
        await restore_from(backups / "20260301T120001Z", url, data)
        return
    async with open_instance(url, data) as instance:
        sys.addaudithook(steps.audit)
        await instance.back_up(backups, second=2, keep=1)


def serve() -> None:
    """Work up to the step that each line names, in a process of its own, and say how that ended."""
    what, url, data, backups = sys.argv[1:]
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            steps = Steps([data, backups], int(line))
            asyncio.run(work(what, url, Path(data), Path(backups), steps))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
