"""What people download: stored files, all of an item as one zip, and single files from inside its archive."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.contents import Listing, Problem
from headgate.domain.library.inspections import ItemFile, arrange_volumes, names_archive, place_volumes
from headgate.domain.words.contents import problem_text
from headgate.domain.words.file_words import no_room_text
from headgate.ingest.inspecting.reader import ContentReader
from headgate.ingest.serving.zip_stream import ZipMember, safe_name, stream_zip
from headgate.storage.blobs.room import NoRoom
from headgate.storage.blobs.store import ObjectDamaged, ObjectMissing
from headgate.storage.catalogue.items import get_item
from headgate.storage.database import Tx
from headgate.storage.library.contents import ContentRow, get_entry
from headgate.storage.library.inspections import get_inspection, list_item_files
from headgate.storage.library.pictures import Picture, find_picture

Read = Callable[[int, int], AsyncIterator[bytes]]
"""Yields the bytes from a start to an end."""

_CHUNK_BYTES = 2**18
MAX_NESTED_ENTRIES = 2_000
"""Of an archive inside another; it is listed anew each time."""


@dataclass(frozen=True)
class RangedContent:
    """Content that can be sent in ranges."""

    name: str
    size_bytes: int
    tag: str
    """Stands for the content: another content has another one."""
    read: Read


@dataclass(frozen=True)
class EntryWish:
    """A file inside an archive, and the volumes that it is in."""

    entry: ContentRow
    number: int
    volumes: tuple[ItemFile | None, ...]

    @property
    def name(self) -> str:
        return safe_name(self.entry.path)


async def get_file(tx: Tx, reader: ContentReader, item_id: UUID, sighting_id: UUID) -> RangedContent:
    """Return a stored file of an item."""
    files = await list_item_files(tx, item_id)
    file = next((file for file in files if file.sighting_id == sighting_id), None)
    if file is None:
        raise NotFound("This item has no such file.", remedy="It may belong to another item by now.")
    if file.blob_id is None or file.sha256 is None:
        raise NotFound("The content of this file is not stored.", remedy="Fetch it first.")
    await _check_object(reader, file)
    read = partial(_read_range, reader, file.object_name)
    return RangedContent(file.file_name, file.size_bytes, file.sha256.hex(), read)


async def get_picture(tx: Tx, reader: ContentReader, sha256: bytes) -> tuple[Picture, RangedContent]:
    """Return a picture by the hash of its content."""
    picture = await find_picture(tx, sha256)
    if picture is None:
        raise NotFound("There is no such picture.", remedy="A newer one may have taken its place.")
    read = partial(_read_range, reader, picture.object_name)
    return picture, RangedContent("", picture.size_bytes, sha256.hex(), read)


async def list_stored(tx: Tx, item_id: UUID) -> list[ItemFile]:
    """Return the stored files of an item, one for each volume."""
    sources = [volume.source for volume in arrange_volumes(await list_item_files(tx, item_id))]
    return [source for source in sources if source is not None]


async def get_zip(tx: Tx, reader: ContentReader, item_id: UUID) -> tuple[str, AsyncGenerator[bytes, None]]:
    """Return the name and the bytes of a zip with all stored files of an item."""
    item = await get_item(tx, item_id)
    files = await list_stored(tx, item_id)
    if item is None or not files:
        raise NotFound("Nothing of this item is stored.", remedy="Fetch it first.")
    for file in files:
        await _check_object(reader, file)
    members = [_member(reader, file, item.sent_at) for file in files]
    return f"{safe_name(item.title)}.zip", stream_zip(members)


async def get_entry_wish(tx: Tx, item_id: UUID, number: int) -> EntryWish:
    """Return what extracting a file needs; refuse if the archive is not the one that was listed."""
    inspection = await get_inspection(tx, item_id)
    entry = await get_entry(tx, item_id, number)
    if inspection is None or entry is None:
        raise NotFound("There is no such file inside.", remedy="The archive may have been listed again.")
    if entry.is_folder or entry.is_link:
        raise UserError("This is a folder or a link, not a file.", remedy="Choose a file inside.")
    if entry.is_encrypted:
        raise UserError(
            "This file is protected by a password.",
            remedy="Download the archive and unpack it yourself.",
        )
    volumes = place_volumes(arrange_volumes(await list_item_files(tx, item_id)))
    if [volume.blob_id if volume else None for volume in volumes] != inspection.volumes:
        raise UserError(
            "The files of this item have changed since they were looked into.",
            remedy="Wait a moment and reload the page.",
        )
    return EntryWish(entry, number, volumes)


@asynccontextmanager
async def extract(reader: ContentReader, wish: EntryWish) -> AsyncGenerator[RangedContent, None]:
    """Unpack a file, verified by its checksum; it is gone after the block."""
    async with AsyncExitStack() as stack:
        folder = await stack.enter_async_context(reader.scratch.folder())
        volumes = await stack.enter_async_context(_open(reader, wish.volumes))
        output = folder / "extracted"
        done = await reader.archives.extract(volumes, wish.number, output)
        if done.problem:
            raise _refusal(done.problem)
        yield RangedContent(wish.name, done.size_bytes, "", partial(_read_path, output))


async def list_nested(reader: ContentReader, wish: EntryWish) -> Listing:
    """List an archive inside an archive; nothing of it is kept."""
    if not names_archive(wish.name):
        raise UserError("This file is not an archive.", remedy="Download it instead.")
    async with reader.scratch.folder() as folder, _open(reader, wish.volumes) as volumes:
        return await reader.archives.list_nested(volumes, wish.number, spool=folder / "nested")


@asynccontextmanager
async def _open(
    reader: ContentReader, volumes: Sequence[ItemFile | None]
) -> AsyncGenerator[list[Path | None], None]:
    try:
        async with reader.files.open(volumes) as paths:
            yield paths
    except (ObjectMissing, ObjectDamaged) as error:
        raise _missing() from error
    except NoRoom as error:
        raise UserError(
            no_room_text(error.needed_bytes), remedy="Free some space, or try again when downloads are done."
        ) from error


def _refusal(problem: Problem) -> UserError:
    text = problem_text(problem)
    return UserError(
        f"The file cannot be extracted: {text}.", remedy="Download the archive and unpack it yourself."
    )


def _missing() -> UserError:
    return UserError(
        "The stored content is missing or damaged.", remedy="Run an audit, and fetch the file again."
    )


async def _check_object(reader: ContentReader, file: ItemFile) -> None:
    """Refuse before the first byte is sent: an answer that has begun can only be broken off."""
    if await reader.files.store.get_size(file.object_name) != file.size_bytes:
        raise _missing()


def _member(reader: ContentReader, file: ItemFile, sent_at: datetime) -> ZipMember:
    read = partial(_read_range, reader, file.object_name, 0, file.size_bytes)
    return ZipMember(file.file_name, file.size_bytes, sent_at, read)


def _read_range(reader: ContentReader, name: str, start: int, end: int) -> AsyncGenerator[bytes, None]:
    return reader.files.store.read(name, start=start, end=end)


async def _read_path(path: Path, start: int, end: int) -> AsyncGenerator[bytes, None]:
    # A file on the local disk that was written a moment ago is in memory.
    with path.open("rb") as file:
        file.seek(start)
        while start < end and (chunk := file.read(min(_CHUNK_BYTES, end - start))):
            start += len(chunk)
            yield chunk
