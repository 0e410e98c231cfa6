"""The PostgreSQL that the settings ask for: a server of yours, or the embedded one."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from headgate.domain.errors import UserError
from headgate.kernel.settings import Settings


@asynccontextmanager
async def open_server(settings: Settings) -> AsyncGenerator[str, None]:
    """Yield the address of the database; the embedded server runs at least as long as the block."""
    if settings.database.url is not None:
        yield settings.database.url.get_secret_value()
        return
    if sys.platform == "win32":
        raise UserError(
            "The embedded database needs Linux or macOS.",
            remedy="Set HEADGATE_DATABASE_URL to a PostgreSQL server (15 or newer).",
        )
    # Not at the top: its file locks exist on no other system.
    from headgate.storage.embedded import EmbeddedServer

    server = EmbeddedServer(settings.data.dir, shared_memory_mb=settings.database.shared_memory_mb)
    async with server.attach() as url:
        yield url
