"""Whether this process can do its work, truthfully, and cheaply enough for anybody to ask."""

from __future__ import annotations

import asyncio
import shutil

from headgate.domain.errors import UserError
from headgate.storage.errors import DatabaseAway
from headgate.storage.migrate import schema_status
from headgate.web.parts import WebParts

_KEEP_S = 2.0
_KEEP_SCHEMA_S = 60.0
_MIN_FREE_BYTES = 64 * 1024 * 1024


class Readiness:
    """Answers from a look that is at most two seconds old, so that probes cost nothing."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts
        self._clock = parts.real_clock
        self._lock = asyncio.Lock()
        self._checked_s = float("-inf")
        self._reasons: list[str] = []
        self._schema_seen_s = float("-inf")

    async def reasons(self) -> list[str]:
        """Return why we are not ready; nothing if we are."""
        async with self._lock:
            if self._clock.monotonic() - self._checked_s >= _KEEP_S:
                self._reasons = await self._check()
                self._checked_s = self._clock.monotonic()
            return self._reasons

    async def _check(self) -> list[str]:
        reasons = [*self._check_disk(), *await self._parts.ready()]
        try:
            await self._parts.database.ping()
        except DatabaseAway as error:
            return [f"The database is away: {error}", *reasons]
        return [*await self._check_schema(), *reasons]

    async def _check_schema(self) -> list[str]:
        if self._clock.monotonic() - self._schema_seen_s < _KEEP_SCHEMA_S:
            return []
        try:
            status = await schema_status(self._parts.database.url)
        except UserError as error:
            return [str(error)]
        except Exception as error:  # noqa: BLE001 - whatever keeps us from knowing is a reason not to be ready
            return [f"The schema cannot be checked: {error}"]
        if not status.current:
            return ["Migrations are pending. Run: headgate db migrate"]
        self._schema_seen_s = self._clock.monotonic()
        return []

    def _check_disk(self) -> list[str]:
        folder = self._parts.data_dir
        try:
            free_bytes = shutil.disk_usage(folder).free
        except OSError as error:
            return [f"The data folder {folder} cannot be used: {error}"]
        if free_bytes < _MIN_FREE_BYTES:
            return [f"Only {free_bytes // 2**20} MiB are free in {folder}."]
        return []
