"""What a process reads stored files with: a sandbox, a scratch folder, and the parts that use them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from headgate.ingest.contents import archives
from headgate.ingest.contents.archives import Archives
from headgate.ingest.inspecting import previews
from headgate.ingest.inspecting.covers import CoverFinder
from headgate.ingest.inspecting.group_covers import CoverUploads
from headgate.ingest.inspecting.inspect import Inspector
from headgate.ingest.inspecting.local_files import LocalFiles
from headgate.ingest.inspecting.picture_blobs import PictureBlobs
from headgate.ingest.inspecting.previews import PreviewMaker
from headgate.ingest.inspecting.scratch import FOLDER, Scratch
from headgate.ingest.sandbox.pool import Sandbox
from headgate.kernel.clock import Clock
from headgate.storage.blobs.opening import Files, claim_store


@dataclass(frozen=True)
class ContentReader:
    """Reads stored files; a process has one. Its subprocesses start when they are needed first."""

    sandbox: Sandbox
    scratch: Scratch
    files: LocalFiles
    archives: Archives
    inspector: Inspector
    covers: CoverUploads

    async def close(self) -> None:
        """End the subprocesses and remove what they wrote."""
        await self.sandbox.close()
        self.scratch.close()


def build_reader(files: Files, data_dir: Path, *, clock: Clock) -> ContentReader:
    """Put together what reads stored files; nothing is started."""
    sandbox = Sandbox(modules=[archives.TASKS, previews.TASKS])
    scratch = Scratch(data_dir / FOLDER)
    local = LocalFiles(files.store, scratch, files.spools, files.room, files.database, files.ids, clock)
    looking = Archives(sandbox)
    previews_of, pictures = PreviewMaker(sandbox), PictureBlobs(files.writer, files.spools)
    inspector = Inspector(clock, local, looking, CoverFinder(local, looking, previews_of), pictures)
    return ContentReader(
        sandbox, scratch, local, looking, inspector, CoverUploads(previews_of, pictures, scratch)
    )


@asynccontextmanager
async def opened_reader(files: Files, data_dir: Path, *, clock: Clock) -> AsyncGenerator[ContentReader, None]:
    """Have what a command needs to read and store files, in a store that is checked first."""
    await files.store.check()
    await claim_store(files.database, files.store, fresh_id=files.ids.new())
    reader = build_reader(files, data_dir, clock=clock)
    try:
        yield reader
    finally:
        await reader.close()
