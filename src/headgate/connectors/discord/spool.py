"""Files that wait to be sent.

Discord has no upload that several messages can share: a file travels with each message. So `upload` keeps the
content on this machine, and every send takes it from there.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from headgate.connectors.discord.errors import UploadLapsed
from headgate.connectors.discord.rest import OutgoingUpload
from headgate.connectors.protocol import MediaHandle, OutgoingFile
from headgate.kernel.clock import Clock
from headgate.kernel.randomness import secret_token

KEPT_FOR = timedelta(hours=6)
MAX_BYTES = 512 * 2**20


@dataclass(frozen=True)
class _Spooled:
    upload: OutgoingUpload
    size_bytes: int


class Spool:
    """The files that one link can send; they go with it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: OrderedDict[str, _Spooled] = OrderedDict()

    async def put(self, file: OutgoingFile) -> MediaHandle:
        """Keep a file's content; the oldest ones make room for it."""
        handle = secret_token(12)
        path = self._place() / handle
        with path.open("wb") as spooled:
            async for chunk in file.read():
                await asyncio.to_thread(spooled.write, chunk)
        self._files[handle] = _Spooled(OutgoingUpload(path, file.name, file.mime_type), file.size_bytes)
        self._make_room()
        return MediaHandle(handle, expires_at=self._clock.now() + KEPT_FOR)

    def get(self, handle: str) -> OutgoingUpload:
        """Return a file that was kept; another process, or a restart, knows nothing of it."""
        if handle not in self._files:
            raise UploadLapsed("the file to be sent is not in the spool any more")
        self._files.move_to_end(handle)
        return self._files[handle].upload

    def clear(self) -> None:
        self._files.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _place(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="headgate-discord-")
        return Path(self._folder.name)

    def _make_room(self) -> None:
        total = sum(file.size_bytes for file in self._files.values())
        while total > MAX_BYTES and len(self._files) > 1:
            _, oldest = self._files.popitem(last=False)
            oldest.upload.path.unlink(missing_ok=True)
            total -= oldest.size_bytes
