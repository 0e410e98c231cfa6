"""A process that restores a backup and stops in the middle of it, until it is killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from headgate.storage.backup.restore import restore


def stay(part: float) -> None:
    if part > float(sys.argv[3]):
        sys.stdout.write("in the middle\n")
        sys.stdout.flush()
        sys.stdin.read()


asyncio.run(restore(sys.argv[1], Path(sys.argv[2]), replace=True, on_progress=stay))
