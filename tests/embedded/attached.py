"""A process that attaches to the embedded server of a folder, says the address, and stays until told to go."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from headgate.storage.embedded import EmbeddedServer


async def main() -> None:
    async with EmbeddedServer(Path(sys.argv[1]), shared_memory_mb=16, fsync=False).attach() as url:
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.readline)


asyncio.run(main())
