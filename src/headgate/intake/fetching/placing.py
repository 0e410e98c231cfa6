"""Files that are not copied: their content is read once where it lies, and its hash noted."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.connectors.protocol import Link, PlacingLink
from headgate.domain.errors import Transient
from headgate.domain.library.places import blob_id
from headgate.intake.fetching.download import RENEW_S, NotOurs, closing
from headgate.intake.fetching.turns import Turn
from headgate.kernel.clock import Clock
from headgate.storage.blobs.places import PlacedContent, upsert_placed
from headgate.storage.database import Database
from headgate.storage.events import Event, publish
from headgate.storage.library.fetch_lines import FetchFile
from headgate.storage.library.files import complete_files, lock_taken, renew_take


class FileMoved(Transient):
    """The file was moved or changed while it was read."""


class Interrupted(Transient):
    """Somebody waits for the job to end; the file is read again from its start."""


@dataclass(frozen=True)
class PlaceReader:
    """Reads files in place for one turn."""

    link: Link
    turn: Turn
    clock: Clock

    async def read(self, file: FetchFile) -> PlacedContent | None:
        """Read a file and return its content; nothing if it is to be copied."""
        name = await self._name(file)
        if name is None:
            return None
        sha256, size_bytes = hashlib.sha256(), 0
        renewed_s = self.clock.monotonic()
        chunks = self.link.download(
            file.stream_key, message_key=file.message_key, attachment_key=file.attachment_key
        )
        async with closing(chunks):
            async for chunk in chunks:
                await asyncio.to_thread(sha256.update, chunk)
                size_bytes += len(chunk)
                self.turn.bytes += len(chunk)
                if self.turn.stopping:
                    raise Interrupted("reading was interrupted")
                if self.clock.monotonic() - renewed_s >= RENEW_S:
                    renewed_s = self.clock.monotonic()
                    await self._renew(file)
        if await self._name(file) != name:
            raise FileMoved("the file was moved or changed while it was read")
        return PlacedContent(blob_id(name, sha256.digest()), name, sha256.digest(), size_bytes)

    async def _name(self, file: FetchFile) -> str | None:
        if not isinstance(self.link, PlacingLink):
            return None
        return await self.link.place(file.stream_key, message_key=file.message_key)

    async def _renew(self, file: FetchFile) -> None:
        async with self.turn.job.database.autocommit() as tx:
            if not await renew_take(tx, [file.sighting_id], taken_by=self.turn.taken_by):
                raise NotOurs("the file is not wanted any more")


async def complete_placed(
    database: Database, placed: Sequence[tuple[FetchFile, PlacedContent]], *, taken_by: UUID, now: datetime
) -> None:
    """Note files in place as stored, in one transaction; what was withdrawn meanwhile stays as it is."""
    if not placed:
        return
    async with database.transaction() as tx:
        ours = await lock_taken(tx, [file for file, _ in placed], taken_by=taken_by)
        mine = [(file, content) for file, content in placed if file.sighting_id in ours]
        await upsert_placed(tx, [content for _, content in mine], now=now)
        await complete_files(tx, {file.sighting_id: content.id for file, content in mine}, now=now)
        if mine:
            await publish(tx, Event("files"))
