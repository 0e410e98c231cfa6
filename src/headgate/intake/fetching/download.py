"""Brings the bytes of one file into its spool: from where it was left, in a turn of bounded length."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from headgate.domain.errors import Gone
from headgate.intake.channels.rules import RulesCache
from headgate.intake.fetching.limits import ByteLimit, TooLarge, find_limit
from headgate.intake.fetching.turns import Turn
from headgate.lanes.links import Links
from headgate.storage.blobs.opening import Files
from headgate.storage.blobs.spools import Spool
from headgate.storage.events import Event, publish
from headgate.storage.library.fetch_lines import FetchFile
from headgate.storage.library.files import forget_starts, renew_take

RENEW_S = 30.0
PROGRESS_S = 1.0
AHEAD_BYTES = 256 * 2**20
"""Room that is promised ahead to a file whose size is not known."""


class NotOurs(Gone):
    """The file was withdrawn, edited, dropped or taken by another meanwhile."""


@dataclass
class Download:
    """One file on its way into its spool."""

    links: Links
    files: Files
    rules: RulesCache
    turn: Turn
    file: FetchFile
    room_keys: tuple[str, ...]
    """Promises of room that are renewed with the file's own."""
    _limit: ByteLimit | None = field(default=None, init=False)
    """Where the size is only a claim."""

    def __post_init__(self) -> None:
        self.clock, self.database = self.turn.clock, self.turn.job.database
        manifest = self.links.manifest(self.file.platform)
        self._ranges = manifest.ranges
        self._exact = manifest.exact_sizes and self.file.size_bytes > 0
        self._reserved = self.file.size_bytes
        self._renewed_s = self._told_s = self.clock.monotonic()

    async def pull(self, spool: Spool) -> bool:
        """Download until the end; false if the turn ended before."""
        if spool.length > self.file.spooled_bytes and self.file.starts + self.file.attempts > 1:
            async with self.database.autocommit() as tx:
                await forget_starts(tx, self.file.sighting_id, taken_by=self.turn.taken_by)
        if spool.length and not self._ranges:
            await spool.restart()
        if not self._exact:
            self._limit = await find_limit(self.database, self.rules, self.file)
            await self._check_limit(spool, spool.length)
        if not (self._exact and spool.length == self.file.size_bytes) and not await self._read(spool):
            return False
        # A small file is written while the next one arrives.
        finish = spool.finish_later if self.file.small else spool.finish
        await finish(size_bytes=self.file.size_bytes if self._exact else None)
        return True

    async def _read(self, spool: Spool) -> bool:
        file = self.file
        async with self.links.call(self.turn.account, "download", stock=self.turn.permits) as link:
            chunks = link.download(
                file.stream_key,
                message_key=file.message_key,
                attachment_key=file.attachment_key,
                offset=spool.length,
            )
            async with closing(chunks):
                async for chunk in chunks:
                    await self._check_limit(spool, spool.length + len(chunk))
                    await spool.append(chunk)
                    self.turn.bytes += len(chunk)
                    if self._exact and spool.length > file.size_bytes:
                        return True
                    await self._look_after(spool)
                    if self.turn.stopping or (self._ranges and self.turn.over):
                        return self._exact and spool.length == file.size_bytes
        return True

    async def _check_limit(self, spool: Spool, length: int) -> None:
        if self._limit is None:
            return
        try:
            self._limit.check(length)
        except TooLarge:
            await spool.restart()
            raise

    async def _look_after(self, spool: Spool) -> None:
        """Renew what is held, tell how far it is, and ask for room ahead; each in its time."""
        if not self._exact and spool.length > self._reserved - AHEAD_BYTES // 4:
            self._reserved = spool.length + AHEAD_BYTES
            await self.files.room.reserve(self.file.key, self._reserved)
        now_s = self.clock.monotonic()
        if now_s - self._renewed_s >= RENEW_S:
            self._renewed_s = now_s
            await self.renew()
        if now_s - self._told_s >= PROGRESS_S:
            self._told_s = now_s
            await self._tell(spool.length)

    async def renew(self) -> None:
        """Hold the file and its room for longer; raise `NotOurs` if it is not ours any more."""
        async with self.database.autocommit() as tx:
            held = await renew_take(tx, [self.file.sighting_id], taken_by=self.turn.taken_by)
        if not held:
            raise NotOurs("the file is not wanted any more")
        await self.files.room.renew([self.file.key, *self.room_keys])

    async def _tell(self, length: int) -> None:
        details = {
            "file": self.file.key,
            "bytes": str(length),
            "size": str(self.file.size_bytes),
        }
        async with self.database.autocommit() as tx:
            await publish(tx, Event("fetch", details=details))


@asynccontextmanager
async def closing(chunks: AsyncIterator[bytes]) -> AsyncGenerator[None, None]:
    """Close a download that is left in the middle."""
    try:
        yield
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()
