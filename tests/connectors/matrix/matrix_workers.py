"""Headgate's workers as processes of their own, on one database and one account."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from running import environment
from started_server import StartedServer

START_S = 60.0
READY_LINE = "The workers are running"


@dataclass
class Workers:
    """The worker processes of a test, by their process ids."""

    url: str
    folder: Path
    settings: dict[str, str]
    _running: dict[int, StartedServer] = field(default_factory=dict[int, StartedServer])

    @property
    def pids(self) -> set[int]:
        return set(self._running)

    def start(self) -> int:
        """Start one more, and wait until it works."""
        command = [sys.executable, "-m", "headgate", "worker"]
        own = {"HEADGATE_DATABASE_URL": self.url, "HEADGATE_DATA_DIR": str(self.folder), **self.settings}
        worker = StartedServer(command, folder=self.folder, ready_line=READY_LINE, env=environment(**own))
        self._running[worker.process.pid] = worker
        assert worker.wait_until_ready(timeout_s=START_S), worker.output()[-1500:]
        return worker.process.pid

    def kill(self, pid: int) -> None:
        """End one as a crash does."""
        worker = self._running.pop(pid)
        worker.process.kill()
        worker.wait()

    def stop(self) -> None:
        for worker in self._running.values():
            worker.process.terminate()
        for worker in self._running.values():
            worker.wait(timeout_s=30)


@contextmanager
def working(url: str, folder: Path, **settings: str) -> Generator[Workers]:
    workers = Workers(url, folder, settings)
    try:
        yield workers
        workers.stop()
    finally:
        for pid in workers.pids:
            workers.kill(pid)
