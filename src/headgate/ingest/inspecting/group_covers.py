"""Covers that people upload for groups: pictures are made of them in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from uuid import UUID

from headgate.catalogue.groups.covers import set_cover
from headgate.domain.errors import UserError
from headgate.domain.words.times import size_text
from headgate.ingest.inspecting.picture_blobs import PictureBlobs
from headgate.ingest.inspecting.previews import NotMade, PreviewMaker
from headgate.ingest.inspecting.scratch import Scratch
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx

MAX_COVER_BYTES = 20 * 2**20
_SOURCE = "source"


@dataclass(frozen=True)
class CoverUploads:
    """Makes covers of uploaded files."""

    previews: PreviewMaker
    pictures: PictureBlobs
    scratch: Scratch

    async def upload(
        self,
        transaction: Callable[[], AbstractAsyncContextManager[Tx]],
        group_id: UUID,
        content: bytes,
        *,
        ids: Ids,
    ) -> None:
        """Show a group by an uploaded picture."""
        check_size(len(content))
        async with self.scratch.folder() as folder:
            source, output = folder / _SOURCE, folder / "made"
            output.mkdir()
            await asyncio.to_thread(source.write_bytes, content)
            made = await self.previews.make("album_photo", source, name=_SOURCE, folder=output)
            if isinstance(made, NotMade):
                raise UserError(
                    "No picture can be made of this file.",
                    remedy="Use a JPEG, PNG, WebP or GIF file.",
                    field="file",
                )
            async with self.pictures.store(ids.new(), made.files) as stored, transaction() as tx:
                await set_cover(tx, group_id, stored)


def check_size(size_bytes: int | None) -> None:
    """Refuse a file before it is read, where its size is known."""
    if size_bytes == 0:
        raise UserError("The file is empty.", field="file")
    if size_bytes is not None and size_bytes > MAX_COVER_BYTES:
        raise UserError(f"A cover has at most {size_text(MAX_COVER_BYTES)}.", field="file")
