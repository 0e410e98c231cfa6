"""The PostgreSQL that the settings ask for: a server of yours, or the embedded one."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.domain.errors import UserError
from headgate.kernel.settings import Settings

if TYPE_CHECKING:
    from headgate.storage.embedded import EmbeddedServer

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
_ROOM = 2 * 2**30


@asynccontextmanager
async def open_server(settings: Settings) -> AsyncGenerator[str, None]:
    """Yield the address of the database; the embedded server runs at least as long as the block."""
    if settings.database.url is not None:
        yield settings.database.url.get_secret_value()
        return
    _check_platform()
    async with _embedded(settings).attach() as url:
        yield url


@asynccontextmanager
async def open_workshop(settings: Settings, *, fsync: bool = True) -> AsyncGenerator[str, None]:
    """Yield the address of a server to create databases on, for benchmarks and plays.

    That is the server of the settings, whose user needs CREATEDB, or an embedded one that is gone afterwards;
    one that need not survive anything is in memory if there is room, since a database is hundreds of files.
    """
    if settings.database.url is not None:
        yield settings.database.url.get_secret_value()
        return
    _check_platform()
    with tempfile.TemporaryDirectory(prefix="headgate-workshop-", dir=None if fsync else _memory()) as folder:
        server = _embedded(settings.replace_data_dir(Path(folder)), fsync=fsync)
        async with server.attach() as url:
            server.allow_databases()
            yield url


def is_embedded_running(settings: Settings) -> bool:
    """Tell whether the embedded server of the data folder runs, for whomever."""
    return sys.platform != "win32" and _embedded(settings).is_running()


def _memory() -> Path | None:
    """Return a folder in memory with room for some databases."""
    roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
    return _MEMORY if roomy else None


def _check_platform() -> None:
    if sys.platform == "win32":
        raise UserError(
            "The embedded database needs Linux or macOS.",
            remedy="Set HEADGATE_DATABASE_URL to a PostgreSQL server (15 or newer).",
        )


def _embedded(settings: Settings, *, fsync: bool = True) -> EmbeddedServer:
    # Not at the top: its file locks exist on no other system.
    from headgate.storage.embedded import EmbeddedServer

    return EmbeddedServer(settings.data.dir, shared_memory_mb=settings.database.shared_memory_mb, fsync=fsync)
