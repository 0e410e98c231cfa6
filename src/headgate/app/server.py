"""The PostgreSQL that the settings ask for: a server of yours, or the embedded one."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from headgate.domain.errors import UserError
from headgate.kernel.settings import Settings

if TYPE_CHECKING:
    from headgate.storage.embedded import EmbeddedServer


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
    async with _embedded(settings).attach() as url:
        yield url


def is_embedded_running(settings: Settings) -> bool:
    """Tell whether the embedded server of the data folder runs, for whomever."""
    return sys.platform != "win32" and _embedded(settings).is_running()


def _embedded(settings: Settings) -> EmbeddedServer:
    # Not at the top: its file locks exist on no other system.
    from headgate.storage.embedded import EmbeddedServer

    return EmbeddedServer(settings.data.dir, shared_memory_mb=settings.database.shared_memory_mb)
