"""Other processes that attach to an embedded server, and what tests ask of one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from headgate.storage.embedded import EmbeddedServer
from headgate.storage.embedded.postmaster import read_postmaster

ATTACHED = Path(__file__).with_name("attached.py")
PATIENCE_S = 20.0


class Guest:
    """A process that is attached to the server of a folder."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.child = subprocess.Popen(
            [sys.executable, str(ATTACHED), str(folder), *(["--durable"] if durable else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.child.stdout is not None
        self.url = self.child.stdout.readline().strip()
        if not self.url:
            raise AssertionError(self.child.communicate()[1])

    def leave(self) -> None:
        """Let it detach in its own way."""
        _, errors = self.child.communicate("\n", timeout=PATIENCE_S)
        assert self.child.returncode == 0, errors

    def kill(self) -> None:
        """End it as kill -9 does."""
        self.child.kill()
        self.child.communicate()


class AttachProcess(Protocol):
    def __call__(self, *, durable: bool = False) -> Guest: ...


def make_server(folder: Path, *, durable: bool = False) -> EmbeddedServer:
    """Return a small server; only a durable one keeps its last commits when it is killed."""
    return EmbeddedServer(folder, shared_memory_mb=16, fsync=durable)


def postmaster_pid(folder: Path) -> int:
    postmaster = read_postmaster(folder / "postgres/server/cluster/postmaster.pid")
    assert postmaster is not None
    return postmaster.pid


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something outside of our process, with a deadline."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
