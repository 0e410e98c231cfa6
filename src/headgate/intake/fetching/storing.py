"""From finished spools to stored files: the content, what platforms call it, and the rows, at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import Transient, WorkError
from headgate.storage.blobs.blobs import Blob, ContentId, find_aliases, upsert_aliases
from headgate.storage.blobs.opening import Files
from headgate.storage.blobs.spools import Spool
from headgate.storage.blobs.store import StoreTrouble
from headgate.storage.database import Database
from headgate.storage.events import Event, publish
from headgate.storage.library.fetch_lines import FetchFile
from headgate.storage.library.files import complete_files, lock_taken

PulledFile = tuple[FetchFile, Spool]
StoredFile = tuple[FetchFile, Blob]
FailedFile = tuple[FetchFile, WorkError | StoreTrouble]


async def link_known(
    database: Database, files: Sequence[FetchFile], *, taken_by: UUID, now: datetime
) -> set[UUID]:
    """Give files the content that their platform calls by a known name; returns which, by their sightings."""
    named = {file.sighting_id: _content_id(file) for file in files if file.content_id}
    if not named:
        return set()
    async with database.transaction() as tx:
        # Files before blobs, as everybody locks them.
        ours = await lock_taken(tx, files, taken_by=taken_by)
        known = await find_aliases(tx, sorted(set(named.values()), key=str))
        blobs = {
            sighting_id: known[name].id
            for sighting_id, name in named.items()
            if name in known and sighting_id in ours
        }
        await complete_files(tx, blobs, now=now)
        if blobs:
            await publish(tx, Event("files"))
    return set(blobs)


async def store(files: Files, pulled: Sequence[PulledFile]) -> tuple[list[StoredFile], list[FailedFile]]:
    """Store finished spools, together if all goes well; returns what is stored and what is not."""
    pulled, unwritten = await _write_rest(pulled)
    stored, failed = await _store_written(files, pulled)
    return stored, unwritten + failed


async def _write_rest(
    pulled: Sequence[PulledFile],
) -> tuple[list[PulledFile], list[FailedFile]]:
    """Wait for the disk; returns what is written and what is not."""
    written: list[PulledFile] = []
    failed: list[FailedFile] = []
    for file, spool in pulled:
        try:
            await spool.flush()
        except Transient as error:
            failed.append((file, error))
        else:
            written.append((file, spool))
    return written, failed


async def _store_written(
    files: Files, pulled: Sequence[PulledFile]
) -> tuple[list[StoredFile], list[FailedFile]]:
    if not pulled:
        return [], []
    try:
        blobs = await files.writer.store_all([spool for _, spool in pulled])
    except (WorkError, StoreTrouble) as error:
        if len(pulled) == 1:
            return [], [(pulled[0][0], error)]
    else:
        return [(file, blob) for (file, _), blob in zip(pulled, blobs, strict=True)], []
    stored: list[StoredFile] = []
    failed: list[FailedFile] = []
    for each in pulled:
        one_stored, one_failed = await _store_written(files, [each])
        stored += one_stored
        failed += one_failed
    return stored, failed


async def complete(
    database: Database, files: Files, stored: Sequence[StoredFile], *, taken_by: UUID, now: datetime
) -> None:
    """Note what is stored, in one transaction; what was withdrawn or edited meanwhile stays as it is."""
    if not stored:
        return
    async with database.transaction() as tx:
        ours = await lock_taken(tx, [file for file, _ in stored], taken_by=taken_by)
        mine = [(file, blob) for file, blob in stored if file.sighting_id in ours]
        await complete_files(tx, {file.sighting_id: blob.id for file, blob in mine}, now=now)
        await upsert_aliases(
            tx, {_content_id(file): blob.id for file, blob in stored if file.content_id}, now=now
        )
        await files.room.release(tx, [file.key for file, _ in stored])
        if mine:
            await publish(tx, Event("files"))


def _content_id(file: FetchFile) -> ContentId:
    """Return what the platform calls a file's content, with the size as told: the next one tells the same."""
    return ContentId(file.platform, "", file.content_id, file.size_bytes)
