"""What the server leaves in files: its process id and state, its logs, and remains after a crash."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headgate.domain.errors import UserError
from headgate.storage.embedded.layout import Layout

_STATE_LINE = 7
_KEPT_LOGS = 8
_SHOWN_BYTES = 4096
_LOG_BEGINS = "redirecting log output"


@dataclass(frozen=True)
class Postmaster:
    """The server's main process, as its own file tells."""

    pid: int
    state: str


def read_postmaster(path: Path) -> Postmaster | None:
    """Return what the file says; nothing if it is not there or not yet whole."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    return Postmaster(pid, lines[_STATE_LINE].strip() if len(lines) > _STATE_LINE else "starting")


def is_alive(pid: int) -> bool:
    """Tell whether a process with this id exists and has not ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with suppress(OSError, IndexError):
        # The state stands behind the name, which may hold anything, brackets too.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True


def clear_remains(layout: Layout) -> None:
    """Remove the files that would keep a new server from starting; the server's lock is ours, so none lives.

    PostgreSQL would trust the process id in them, which somebody else may have by now.
    """
    postmaster = read_postmaster(layout.pid_file)
    if postmaster is not None and _is_server_of(postmaster.pid, layout.cluster):
        raise UserError(
            f"Process {postmaster.pid}, not started by Headgate, runs PostgreSQL on {layout.cluster}.",
            remedy="Stop it, then start Headgate again.",
        )
    for path in (layout.pid_file, layout.socket, layout.socket.with_name(f"{layout.socket.name}.lock")):
        path.unlink(missing_ok=True)


def _is_server_of(pid: int, cluster: Path) -> bool:
    if not is_alive(pid):
        return False
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cwd").samefile(cluster)
        except OSError:
            return False
    shown = subprocess.run(  # noqa: S603
        ["/bin/ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip().endswith("postgres")


def prune_logs(layout: Layout) -> None:
    """Keep the newest logs; the server itself limits the size of each."""
    for path in _logs(layout)[:-_KEPT_LOGS]:
        path.unlink(missing_ok=True)


def last_words(layout: Layout) -> str:
    """Return what the server said last, before its own log began or in it."""
    lines = _tail(layout.start_log)
    if any(_LOG_BEGINS in line for line in lines):
        lines = [line for path in _logs(layout)[-1:] for line in _tail(path)]
        lines = [line for line in lines if "FATAL:" in line or "PANIC:" in line] or lines
        lines = lines[-1:]
    text = " ".join(line.strip() for line in lines) or "it left no message"
    for mark in ("FATAL:", "PANIC:", "LOG:"):
        text = text.partition(mark)[2] or text
    return text.strip()


def _logs(layout: Layout) -> list[Path]:
    return sorted(layout.log.glob("postgresql-*.log"))


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _SHOWN_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
