"""A real Discord-compatible server (yepcord) on loopback, in an environment of its own.

Its pins fight with ours, so it is installed once into the user's cache folder, keyed by the pins.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from started_server import StartedServer

PINS = Path(__file__).parents[2] / "requirements" / "discord-server.txt"
EPOCH_MS = 1_640_995_200_000
"""Its ids count from 2022 on."""
START_S = 90.0
READY_LINE = "Uvicorn running on"

_CONFIG = """
DB_CONNECT_STRING = "sqlite://{folder}/db.sqlite"
MIGRATIONS_DIR = "{folder}/migrations"
KEY = "bm90IGEgc2VjcmV0LCBhIHRlc3Qgb24gbG9vcGJhY2s="
PUBLIC_HOST = "127.0.0.1:{port}"
GATEWAY_HOST = "127.0.0.1:{port}/gateway"
CDN_HOST = "127.0.0.1:{port}/media"
STORAGE = {{"type": "local", "local": {{"path": "{folder}/files"}}}}
MESSAGE_BROKER = {{"type": "ws", "ws": {{"url": "ws://127.0.0.1:{broker}"}}}}
BCRYPT_ROUNDS = 4
"""


class CannotRun(Exception):
    """The server cannot be installed or started on this machine."""


@contextmanager
def running_server() -> Generator[int]:
    """Run the server on a free port, and yield the port."""
    program = _environment() / "bin" / "yepcord"
    with tempfile.TemporaryDirectory(prefix="headgate-yepcord-") as folder:
        port, broker = _free_port(), _free_port()
        config = Path(folder) / "config.py"
        config.write_text(_CONFIG.format(folder=folder, port=port, broker=broker))
        _run([str(program), "migrate", "-c", str(config)], folder)
        command = [str(program), "run_all", "-c", str(config), "-h", "127.0.0.1", "-p", str(port)]
        server = StartedServer(command, folder=Path(folder), ready_line=READY_LINE)
        try:
            if not server.wait_until_ready(timeout_s=START_S):
                raise CannotRun(f"yepcord-server did not start: {server.output()[-800:]}")
            yield port
        finally:
            server.process.send_signal(signal.SIGTERM)
            try:
                server.wait(timeout_s=5)
            except subprocess.TimeoutExpired:
                server.process.kill()
                server.wait()


def _environment() -> Path:
    """Return the server's environment; install it if this machine has none yet."""
    python = _python()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headgate-tests"
    key = hashlib.sha256(PINS.read_bytes() + python.encode()).hexdigest()[:16]
    place = cache / f"yepcord-{key}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"yepcord-{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "ready").exists():
            shutil.rmtree(place, ignore_errors=True)
            _run([python, "-m", "venv", str(place)], str(cache))
            pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
            _run([*pip, "install", "--no-deps", "-r", str(PINS)], str(cache))
            (place / "ready").touch()
    return place


def _python() -> str:
    """Return an interpreter for which the pinned versions have wheels."""
    if sys.version_info[:2] in ((3, 11), (3, 12)):
        return sys.executable
    for name in ("python3.11", "python3.12"):
        if found := shutil.which(name):
            return found
    raise CannotRun("yepcord-server needs Python 3.11 or 3.12, and there is none on the path")


def _run(command: list[str], folder: str) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=600)
    except (subprocess.SubprocessError, OSError) as error:
        output = getattr(error, "stderr", None) or str(error)
        raise CannotRun(f"{' '.join(command[:3])} failed: {output[-500:]}") from error


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
