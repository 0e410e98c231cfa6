"""A process that fetches files and is killed in the middle of a download.

Arguments: the database's address, a folder, which process this is, and the chunk at which it dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from fetch_bench import FetchBench, named, open_fetch_bench

from headgate.kernel.clock import RealClock
from headgate.storage.database import Database

FILES = [named("a.zip"), named("b.zip"), named("big.zip", 12_000_000)]
SYNC_EVERY_BYTES = 100_000


async def begin(bench: FetchBench, *, process: int) -> None:
    """Post the files, which every process sees alike, and go on with what those before have left."""
    bench.parts.files.spools.sync_every_bytes = SYNC_EVERY_BYTES
    message = bench.world.post("packs", files=FILES)
    # Its clock goes on where those before have ended.
    bench.clock.advance(600 * process)
    await bench.hear(message)
    await bench.recover()


def _is_synced(folder: Path) -> bool:
    """Tell whether some of a download is durable."""
    return any(folder.glob("spool/*@state"))


async def _fetch(url: str, folder: Path, *, process: int, dies_at: int) -> None:
    database = Database(url, RealClock())
    await database.open()
    async with open_fetch_bench(database, url, folder, process=process) as bench:
        await begin(bench, process=process)
        chunks = 0

        async def die(point: str) -> None:
            nonlocal chunks
            chunks += point == "download.chunk"
            if chunks == dies_at:
                while not _is_synced(folder):  # noqa: ASYNC110 - a thread does it
                    await asyncio.sleep(0)
                os.kill(os.getpid(), signal.SIGKILL)

        bench.world.on_point = die
        await bench.work()


if __name__ == "__main__":
    asyncio.run(_fetch(sys.argv[1], Path(sys.argv[2]), process=int(sys.argv[3]), dies_at=int(sys.argv[4])))
