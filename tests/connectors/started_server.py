"""Starting a server and waiting for the line in which it says that it serves."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO


class StartedServer:
    """A server process whose output goes to a file, and is watched for one line."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        folder: Path,
        ready_line: str,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.log = folder / "output.log"
        self._told = threading.Event()
        self._ready = False
        self.process = subprocess.Popen(
            command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert self.process.stdout is not None
        copying = (self.process.stdout, ready_line.encode())
        self._copier = threading.Thread(target=self._copy, args=copying, daemon=True)
        self._copier.start()

    def wait_until_ready(self, *, timeout_s: float) -> bool:
        """Wait for the line; false if the server ended before it, or the time is over."""
        self._told.wait(timeout_s)
        return self._ready

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait(self, *, timeout_s: float | None = None) -> None:
        """Wait until the process has ended and everything that it printed is in the file."""
        self.process.wait(timeout_s)
        self._copier.join()

    def _copy(self, printed: IO[bytes], ready_line: bytes) -> None:
        with printed, self.log.open("ab") as log:
            for line in printed:
                log.write(line)
                log.flush()
                if ready_line in line:
                    self._ready = True
                    self._told.set()
        self._told.set()
