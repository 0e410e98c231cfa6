"""What a subprocess of the sandbox does to itself first: limits, and death with its parent."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
from contextlib import suppress
from threading import Thread
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38


def restrict_for_life() -> None:
    """Give up what no task needs: open files, core dumps, privileges, and life after the parent."""
    # uvloop leaves descriptors open in what it starts.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    _set_limit("RLIMIT_CORE", 0, hard=0)
    for option, value in ((_PR_SET_PDEATHSIG, signal.SIGKILL), (_PR_SET_NO_NEW_PRIVS, 1)):
        control_process(option, value)
    # The parent may have died before the line above.
    Thread(target=_die_with_the_parent, daemon=True).start()


def restrict_for_task(*, memory_bytes: int, cpu_s: int, file_bytes: int, open_files: int) -> None:
    """Set the limits of the next task; those that a platform lacks are skipped."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit("RLIMIT_AS", memory_bytes)
    _set_limit("RLIMIT_CPU", int(used.ru_utime + used.ru_stime) + 1 + cpu_s)
    _set_limit("RLIMIT_FSIZE", file_bytes)
    _set_limit("RLIMIT_NOFILE", open_files)


def die_with_the_worker() -> None:
    """For programs that a worker starts: `preexec_fn`."""
    control_process(_PR_SET_PDEATHSIG, signal.SIGKILL)


def control_process(option: int, value: int) -> None:
    """Call prctl; on Linux only."""
    if sys.platform == "linux":
        _libc().prctl(option, value, 0, 0, 0)


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _set_limit(name: str, value: int, *, hard: int | None = None) -> None:
    which = getattr(resource, name, None)
    if which is None:
        return
    _, most = resource.getrlimit(which)
    if hard is None:
        hard = most
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    # macOS has RLIMIT_AS and refuses to set it.
    with suppress(ValueError, OSError):
        resource.setrlimit(which, (value, hard))


def _die_with_the_parent() -> None:
    """End this group of processes when the pool's end of stdin closes, whatever the task is doing."""
    poll = select.poll()
    # Without an event to wait for, only the closing of the other end is reported.
    poll.register(0, 0)
    poll.poll()
    os.killpg(0, signal.SIGKILL)
