"""Folders as streams: heads by a walk, pages from the index, content from the files."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

from headgate.connectors.folder.errors import FileChanging, FileVanished, FolderAway, FolderUnknown
from headgate.connectors.folder.index import FolderIndex, IndexedFile, list_roots
from headgate.connectors.folder.names import path_key, show_path, split_path, top_folder
from headgate.connectors.folder.walking import FoundFile, to_file, walk_tree
from headgate.connectors.listing_link import ListingLink
from headgate.connectors.protocol import FoundChannel
from headgate.domain.file_types import type_by_name
from headgate.domain.library.places import Place
from headgate.domain.streams.coverage import proven_span
from headgate.domain.streams.messages import Attachment, Head, Lens, Message, Page, Span
from headgate.kernel.beneath import open_beneath, stat_beneath
from headgate.kernel.clock import Clock, utc_from_timestamp

ATTACHMENT = "file"
CHUNK_BYTES = 2**20
MAX_PAGE = 1000
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""No file, a file instead of a folder, or a link."""
_EPOCH = utc_from_timestamp(0)
_LATEST_S = 253_402_300_799
"""The end of the year 9999; a file may claim any time."""


class FolderLink(ListingLink):
    """Reads folders of this machine."""

    platform = "A folder"

    def __init__(
        self, data_dir: Path, clock: Clock, *, own_folders: Sequence[Path], in_place: bool = False
    ) -> None:
        self._data_dir = data_dir
        self._clock = clock
        self._own_folders = own_folders
        self.in_place = in_place

    async def discover(self) -> Sequence[FoundChannel]:
        return await asyncio.to_thread(self._discover)

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        found = {stream: await asyncio.to_thread(self._walk, stream) for stream in streams}
        return {stream: head for stream, head in found.items() if head is not None}

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        end = min(hole.end, bound, int(bookmark) if bookmark else bound)
        if end <= hole.start:
            return Page((), proven=Span(hole.start, hole.start), exhausted=True)
        asked = min(max(1, limit), MAX_PAGE)
        files = await asyncio.to_thread(self._list, stream, Span(hole.start, end), asked)
        proven = proven_span(
            Span(hole.start, end),
            bound=bound,
            positions=[file.position for file in files],
            asked=asked,
            short_page_proves_bound=True,
            settled_end=end,
        )
        exhausted = len(files) < asked
        return Page(
            tuple(to_message(file, in_place=self.in_place) for file in files),
            proven=proven,
            bookmark="" if exhausted else str(files[-1].position),
            exhausted=exhausted,
        )

    async def message(self, stream: str, key: str) -> Message | None:
        file = await asyncio.to_thread(self._look_again, stream, key)
        return None if file is None else to_message(file, in_place=self.in_place)

    async def place(self, stream: str, *, message_key: str) -> str | None:
        if not self.in_place:
            return None
        file = await asyncio.to_thread(self._find, stream, message_key)
        return Place(os.fsencode(stream), file.path, file.size_bytes, file.mtime_ns).name

    async def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncGenerator[bytes, None]:
        """Yield the content as it was listed; a file that is another by now has to be listed again first."""
        file = await asyncio.to_thread(self._find, stream, message_key)
        descriptor = await asyncio.to_thread(_open, stream, file)
        try:
            while offset < file.size_bytes:
                chunk = await asyncio.to_thread(_read, descriptor, file, offset)
                offset += len(chunk)
                yield chunk
        finally:
            os.close(descriptor)

    def _discover(self) -> list[FoundChannel]:
        return [
            FoundChannel(root, Path(root).name or root, "stream", topics=self._topics(root))
            for root, in_place in list_roots(self._data_dir).items()
            if in_place == self.in_place and Path(root).is_dir()
        ]

    def _topics(self, root: str) -> tuple[str, ...]:
        folders = {top_folder(path) for path in self._index(root).list_paths()}
        return tuple(sorted(path_key(folder) for folder in folders if folder))

    def _walk(self, stream: str) -> Head | None:
        """Look at the whole tree; nothing for a folder that is not there."""
        if not self._is_there(stream):
            return None
        files = walk_tree(Path(stream), own_folders=self._own_folders)
        return Head(self._index(stream).update(files, now_us=self._now_us()))

    def _list(self, stream: str, span: Span, limit: int) -> list[IndexedFile]:
        self._check(stream)
        return self._index(stream).list_page(start=span.start, end=span.end, limit=limit)

    def _look_again(self, stream: str, key: str) -> IndexedFile | None:
        self._check(stream)
        known = self._index(stream).find(key)
        if known is None:
            return None
        found = _stat(stream, known.path)
        return self._index(stream).update_file(key, found, now_us=self._now_us())

    def _find(self, stream: str, key: str) -> IndexedFile:
        self._check(stream)
        file = self._index(stream).find(key)
        if file is None:
            raise FileVanished("the file is not known")
        return file

    def _is_there(self, stream: str) -> bool:
        """Tell whether a folder is there; an empty one may be where a disk is not mounted."""
        if not Path(stream).is_absolute() or not Path(stream).is_dir():
            return False
        with os.scandir(stream) as entries:
            return next(entries, None) is not None or not self._index(stream).has_files()

    def _check(self, stream: str) -> None:
        if self._is_there(stream):
            return
        if stream in list_roots(self._data_dir):
            raise FolderAway(f"the folder {stream} is not there, or empty; is its disk mounted?")
        raise FolderUnknown(f"there is no folder {stream}")

    def _index(self, stream: str) -> FolderIndex:
        return FolderIndex(self._data_dir, stream, in_place=self.in_place)

    def _now_us(self) -> int:
        return (self._clock.now() - _EPOCH) // timedelta(microseconds=1)


def to_message(file: IndexedFile, *, in_place: bool = False) -> Message:
    """Return a file as the message that it is.

    Volumes of one name in two folders are two sets, so the folder stands for the author. A changed content
    shows in a parameter of the type: its size may be the same. So does the path of content that is not
    copied: a file that was moved has to be found again.
    """
    folder, name = split_path(file.path)
    shown = show_path(name)
    version = f"; version={file.version}" if file.version > 1 else ""
    version += f"; place={sha256(file.path).hexdigest()[:16]}" if in_place else ""
    return Message(
        position=file.position,
        key=file.key,
        sent_at=_time_of(file),
        author_key=path_key(folder) if folder else "",
        topic=path_key(top) if (top := top_folder(file.path)) else "",
        edited_at=None if file.changed_us is None else _EPOCH + timedelta(microseconds=file.changed_us),
        attachments=(
            Attachment(
                ATTACHMENT,
                shown,
                file.size_bytes,
                (type_by_name(shown) or "application/octet-stream") + version,
            ),
        ),
    )


def _time_of(file: IndexedFile) -> datetime:
    return utc_from_timestamp(min(max(file.mtime_ns / 1e9, 0), _LATEST_S))


def _stat(stream: str, path: bytes) -> FoundFile | None:
    """Return how a file is now; nothing if it is not there, or is no file any more."""
    try:
        found = stat_beneath(os.fsencode(stream), path)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise
    return to_file(path, found) if stat.S_ISREG(found.st_mode) else None


def _open(stream: str, file: IndexedFile) -> int:
    descriptor = open_beneath(os.fsencode(stream), file.path)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and file.is_as(to_file(file.path, found)):
        return descriptor
    os.close(descriptor)
    raise FileVanished("the file has changed since it was listed")


def _read(descriptor: int, file: IndexedFile, offset: int) -> bytes:
    """Read a chunk. Before the last one is returned, the file must still be as it was listed."""
    chunk = os.pread(descriptor, min(CHUNK_BYTES, file.size_bytes - offset), offset)
    last = offset + len(chunk) >= file.size_bytes
    if not chunk or (last and not file.is_as(to_file(file.path, os.fstat(descriptor)))):
        raise FileChanging("the file changed while it was read")
    return chunk
