"""Stores the files of a picture as blobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from headgate.ingest.inspecting.previews import PreviewOnDisk
from headgate.storage.blobs.spools import Spool, SpoolFolder
from headgate.storage.blobs.writer import BlobWriter
from headgate.storage.library.pictures import NewPicture


@dataclass(frozen=True)
class PictureBlobs:
    """Writes pictures into the store."""

    writer: BlobWriter
    spools: SpoolFolder

    @asynccontextmanager
    async def store(
        self, owner_id: UUID, files: Sequence[PreviewOnDisk]
    ) -> AsyncGenerator[tuple[NewPicture, ...], None]:
        """Store the files; the block commits what refers to them, and then their spools go.

        Nobody else stores pictures for the same owner meanwhile.
        """
        async with AsyncExitStack() as stack:
            spools = [await self._spool(stack, owner_id, file) for file in files]
            blobs = await self.writer.store_all(spools)
            yield tuple(
                NewPicture(file.width_px, file.height_px, file.media_type, blob.id)
                for file, blob in zip(files, blobs, strict=True)
            )

    async def _spool(self, stack: AsyncExitStack, owner_id: UUID, file: PreviewOnDisk) -> Spool:
        content = await asyncio.to_thread(file.path.read_bytes)
        spool = await self.spools.open(f"picture/{owner_id}/{file.path.name}", version="")
        # A picture is made again sooner than what a crash left of it is trusted.
        stack.push_async_callback(spool.discard)
        if spool.length:
            await spool.restart()
        await spool.append(content)
        await spool.finish(size_bytes=len(content))
        return spool
