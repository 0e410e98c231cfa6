"""Copies the stored files of an item into a folder: verified, resumable, and never over what is there."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from headgate.domain.errors import UserError
from headgate.domain.library.inspections import ItemFile
from headgate.ingest.serving.zip_stream import distinct_names
from headgate.storage.blobs.store import BlobStore, ObjectDamaged, ObjectMissing

_CHUNK_BYTES = 2**20
PART = ".headgate-part"
"""Ends the name of a file that is not whole yet; the next export goes on with it."""

Show = Callable[[int, int], None]
"""Takes how many bytes are done, and of how many."""


@dataclass
class Exported:
    """What an export came to."""

    folder: str
    written: list[str] = field(default_factory=list[str])
    already_there: list[str] = field(default_factory=list[str])
    written_bytes: int = 0


async def export_files(
    store: BlobStore, files: Sequence[ItemFile], folder: Path, *, show: Show | None = None
) -> Exported:
    """Copy stored files into a folder; a file of the same content is left alone, another one is refused."""
    show = show or _show_nothing
    await asyncio.to_thread(_make, folder)
    exported, done = Exported(str(folder)), 0
    total = sum(file.size_bytes for file in files)
    for file, name in zip(files, distinct_names([each.file_name for each in files]), strict=True):
        target = folder / name
        if await asyncio.to_thread(_is_there, target, file):
            exported.already_there.append(name)
        else:
            so_far = done
            await _copy(store, file, target, lambda length, so_far=so_far: show(so_far + length, total))
            exported.written.append(name)
            exported.written_bytes += file.size_bytes
        done += file.size_bytes
        show(done, total)
    return exported


def _show_nothing(done: int, total: int) -> None: ...


async def _copy(store: BlobStore, file: ItemFile, target: Path, show: Callable[[int], None]) -> None:
    part = target.with_name(target.name + PART)
    with await asyncio.to_thread(_open_part, part) as output:
        sha256 = hashlib.sha256()
        start = await asyncio.to_thread(_hash_start, output, sha256.update, file.size_bytes)
        try:
            async for chunk in store.read(file.object_name, start=start, end=file.size_bytes):
                await asyncio.to_thread(output.write, chunk)
                sha256.update(chunk)
                start += len(chunk)
                show(start)
        except (ObjectMissing, ObjectDamaged) as error:
            raise _damaged(file) from error
        await asyncio.to_thread(_sync, output)
    if sha256.digest() != file.sha256:
        # The start may be from another file; without it, the next attempt writes all of it.
        part.unlink()
        raise _damaged(file)
    await asyncio.to_thread(_publish, part, target)


def _damaged(file: ItemFile) -> UserError:
    return UserError(
        f"The stored content of {file.file_name} is missing or damaged.",
        remedy="Verify what is stored; damaged files are fetched again.",
        command="headgate audit",
    )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The folder {folder} cannot be made: {error.strerror}.", remedy="Name another one."
        ) from error


def _is_there(target: Path, file: ItemFile) -> bool:
    """Tell whether a file was copied before; raise if something else has its name."""
    if not os.path.lexists(target):
        return False
    if target.is_file() and target.stat().st_size == file.size_bytes:
        with target.open("rb") as content:
            if hashlib.file_digest(content, "sha256").digest() == file.sha256:
                return True
    raise UserError(
        f"{target} exists and has other content.", remedy="Move it away, or export into another folder."
    )


def _open_part(part: Path) -> BinaryIO:
    # A link could lead the copy to another file.
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    return os.fdopen(descriptor, "r+b")


def _hash_start(output: BinaryIO, add: Callable[[bytes], None], size_bytes: int) -> int:
    """Hash what an earlier export has written; return how much that is."""
    if output.seek(0, os.SEEK_END) > size_bytes:
        output.truncate(0)
    output.seek(0)
    while chunk := output.read(_CHUNK_BYTES):
        add(chunk)
    return output.tell()


def _sync(output: BinaryIO) -> None:
    output.flush()
    os.fsync(output.fileno())


def _publish(part: Path, target: Path) -> None:
    """Give the whole file its name, unless something took it meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise UserError(
            f"{target} appeared while it was written.", remedy="Export into another folder."
        ) from None
    except OSError:
        # Some file systems have no links; then the check before has to do.
        if os.path.lexists(target):
            raise
        part.rename(target)
        return
    part.unlink()
