"""What a process reads stored files with: a sandbox, a scratch folder, and the parts that use them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headgate.ingest.contents import archives
from headgate.ingest.contents.archives import Archives
from headgate.ingest.inspecting import previews
from headgate.ingest.inspecting.covers import CoverFinder
from headgate.ingest.inspecting.inspect import Inspector
from headgate.ingest.inspecting.local_files import LocalFiles
from headgate.ingest.inspecting.picture_blobs import PictureBlobs
from headgate.ingest.inspecting.previews import PreviewMaker
from headgate.ingest.inspecting.scratch import FOLDER, Scratch
from headgate.ingest.sandbox.pool import Sandbox
from headgate.kernel.clock import Clock
from headgate.storage.blobs.opening import Files


@dataclass(frozen=True)
class ContentReader:
    """Reads stored files; a process has one. Its subprocesses start when they are needed first."""

    sandbox: Sandbox
    scratch: Scratch
    files: LocalFiles
    archives: Archives
    inspector: Inspector

    async def close(self) -> None:
        """End the subprocesses and remove what they wrote."""
        await self.sandbox.close()
        self.scratch.close()


def build_reader(files: Files, data_dir: Path, *, clock: Clock) -> ContentReader:
    """Put together what reads stored files; nothing is started."""
    sandbox = Sandbox(modules=[archives.TASKS, previews.TASKS])
    scratch = Scratch(data_dir / FOLDER)
    local = LocalFiles(files.store, scratch)
    looking = Archives(sandbox)
    covers = CoverFinder(local, looking, PreviewMaker(sandbox))
    inspector = Inspector(clock, local, looking, covers, PictureBlobs(files.writer, files.spools))
    return ContentReader(sandbox, scratch, local, looking, inspector)
