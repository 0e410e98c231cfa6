"""What is inside an archive, for the rest of the product: listing and extracting, in the sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from headgate.domain.library.contents import ContentLimits, Extraction, ExtractionLimits, Listing
from headgate.ingest.contents.collecting import read_document
from headgate.ingest.sandbox.pool import Sandbox
from headgate.ingest.sandbox.tasks import Failed, Limits, Task

TASKS = "headgate.ingest.contents.tasks"
"""For the sandbox to load at its start."""

LIST = Task(f"{TASKS}:list_archive", Limits(memory_bytes=512 * 2**20, cpu_s=30, wall_s=120.0))
EXTRACT = Task(f"{TASKS}:extract_entry", Limits(memory_bytes=1024 * 2**20, cpu_s=300, wall_s=600.0))

UNPACKERS = ("unar", "unrar", "7zz", "7z")
"""Programs that unpack RAR, the best first: only unar picks an entry by its number."""

Volumes = Sequence[Path | None]
"""The volumes in their order (`.rar`, `.r00`…; `.z01`…, `.zip`); None for one that is missing."""


class Archives:
    """Looks inside archives; an archive can neither raise nor hold it longer than its limits."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        limits: ContentLimits | None = None,
        list_task: Task = LIST,
        extract_task: Task = EXTRACT,
        unpacker: Path | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._limits = limits or ContentLimits()
        self._list_task = list_task
        self._extract_task = extract_task
        self._unpacker = unpacker or find_unpacker()

    async def list_contents(self, volumes: Volumes, *, name: str = "") -> Listing:
        """List an archive; `name` is only needed to name what a lone `.gz` holds."""
        parameters = {**_missing(volumes), "name": name, "limits": asdict(self._limits)}
        result = await self._sandbox.run(self._list_task, _there(volumes), parameters)
        if isinstance(result, Failed):
            return Listing(problems=(result.failure,), detail=result.detail)
        try:
            return read_document(result.value)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            return Listing(problems=("crashed",), detail=f"{type(error).__name__}: {error}")

    async def list_nested(
        self, volumes: Volumes, number: int, *, spool: Path, limits: ExtractionLimits | None = None
    ) -> Listing:
        """List the archive that is an entry of another; `spool` is a file to unpack it to, removed again."""
        try:
            done = await self.extract(volumes, number, spool, limits=limits)
            if done.problem:
                return Listing(problems=(done.problem,), detail=done.detail)
            return await self.list_contents([spool])
        finally:
            spool.unlink(missing_ok=True)  # noqa: ASYNC240 - one call on a local file

    async def extract(
        self, volumes: Volumes, number: int, output: Path, *, limits: ExtractionLimits | None = None
    ) -> Extraction:
        """Extract an entry to a file; with a problem, what the file holds is not to be used."""
        return await self._extract(volumes, number, output, limits or ExtractionLimits(), None)

    async def stream(
        self,
        volumes: Volumes,
        number: int,
        write: Callable[[bytes], Awaitable[None]],
        *,
        limits: ExtractionLimits | None = None,
    ) -> Extraction:
        """Extract an entry piece by piece, no faster than `write` takes them."""
        return await self._extract(volumes, number, None, limits or ExtractionLimits(), write)

    async def _extract(
        self,
        volumes: Volumes,
        number: int,
        output: Path | None,
        limits: ExtractionLimits,
        write: Callable[[bytes], Awaitable[None]] | None,
    ) -> Extraction:
        parameters = {
            **_missing(volumes),
            "number": number,
            "output": str(output) if output else None,
            "limits": asdict(limits),
            "unpacker": str(self._unpacker) if self._unpacker else None,
        }
        task = self._extract_task
        file_bytes = limits.max_bytes if output else 0
        task = replace(
            task,
            limits=replace(task.limits, file_bytes=file_bytes, answer_bytes=limits.max_bytes + 2**20),
        )
        result = await self._sandbox.run(task, _there(volumes), parameters, chunks=write)
        if isinstance(result, Failed):
            return Extraction(problem=result.failure, detail=result.detail)
        return Extraction(**result.value)


def find_unpacker() -> Path | None:
    """Find a program that unpacks RAR."""
    found = (shutil.which(name) for name in UNPACKERS)
    return next((Path(path) for path in found if path), None)


def _missing(volumes: Volumes) -> dict[str, Any]:
    return {"missing": [place for place, path in enumerate(volumes) if path is None]}


def _there(volumes: Volumes) -> list[Path]:
    return [path.absolute() for path in volumes if path is not None]
