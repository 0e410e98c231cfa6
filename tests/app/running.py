"""Headgate as a person starts it: a process of its own, its first printed address, and its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

DEADLINE_S = 90.0


def environment(**changes: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    return inherited | changes


@dataclass
class Running:
    """A started command."""

    process: subprocess.Popen[str]
    address: str

    @property
    def base(self) -> str:
        return re.sub(r"^(https?://[^/]+).*", r"\1", self.address)

    def get(self, path: str = "") -> httpx.Response:
        """Ask as a client that keeps no cookie."""
        return httpx.get(f"{self.base}{path}" if path else self.address, timeout=30)

    def interrupt(self) -> int:
        """Press Ctrl-C and wait for the end."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(DEADLINE_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def started(*arguments: str, **settings: str) -> Generator[Running, None, None]:
    """Start a command and wait for the first address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "headgate", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**settings),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        address = process.stdout.readline().strip()
        if not address:
            raise AssertionError(f"no address was printed: {process.stderr.read()}")
        yield Running(process, address)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


def eventually(check: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does; the deadline only ends a broken test."""
    deadline = time.monotonic() + DEADLINE_S
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def postgres_runs(folder: Path) -> bool:
    """Tell whether a server still uses a data folder."""
    for file in folder.rglob("postmaster.pid"):
        pid = int(file.read_text().splitlines()[0])
        if Path(f"/proc/{pid}").exists():
            return True
    return False
