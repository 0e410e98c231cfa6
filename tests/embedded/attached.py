"""A process that attaches to the server of a folder, says the address, and stays until told to go."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from headgate.kernel.logs import configure_logs
from headgate.storage.embedded import EmbeddedServer


async def main() -> None:
    server = EmbeddedServer(Path(sys.argv[1]), shared_memory_mb=16, fsync="--durable" in sys.argv)
    async with server.attach() as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)


configure_logs(level="info", log_format="json")
asyncio.run(main())
