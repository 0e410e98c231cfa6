"""Imported folders, and how far their imports are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.library.places import IN_PLACE
from headgate.storage.database import Tx
from headgate.storage.library.fetch_lines import line_up
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import queue_files

Q = load_queries(__name__)


@dataclass(frozen=True)
class ImportedFolder:
    """A folder that is a channel; the key is its path."""

    id: UUID
    key: str
    title: str
    reader_id: UUID | None
    reader: str
    has_files: bool

    @property
    def in_place(self) -> bool:
        """Whether its files are not copied."""
        return self.reader == IN_PLACE


@dataclass(frozen=True)
class ImportProgress:
    """How far an import is."""

    files: int
    size_bytes: int
    rejected: int
    """Files that the settings of the channel do not keep."""
    stored: int
    stored_bytes: int
    stored_now: int
    """Files that were stored since the import began."""
    new_contents: int
    """Contents that were not stored before."""
    failed: int
    without_room: int
    needs_bytes: int
    postponed: int
    """Files that could not be read and are tried again later."""
    due: int
    unassembled: int
    """Names of volumes that are still to be put together."""
    uninspected: int
    """Items whose content is still to be looked into."""

    @property
    def idle(self) -> bool:
        """Whether nothing can be done at the moment."""
        return not (self.due or self.unassembled or self.uninspected)

    @property
    def known_before(self) -> int:
        return max(0, self.stored_now - self.new_contents)


@dataclass(frozen=True)
class FailedFile:
    """A file that could not be read."""

    path: str
    reason: str


async def list_folders(tx: Tx) -> list[ImportedFolder]:
    return await tx.all(ImportedFolder, Q["list_folders"])


async def get_progress(tx: Tx, channel_id: UUID, *, since: datetime, now: datetime) -> ImportProgress:
    """Return how far the import of a folder is that began then."""
    found = await tx.one(ImportProgress, Q["get_progress"], channel_id=channel_id, since=since, now=now)
    if found is None:
        raise AssertionError("an aggregate has one row")
    return found


async def list_failed(tx: Tx, channel_id: UUID, *, limit: int) -> list[FailedFile]:
    """Return files that could not be read, with the reasons."""
    return await tx.all(FailedFile, Q["list_failed"], channel_id=channel_id, limit=limit)


async def retry_files(tx: Tx, channel_id: UUID, *, now: datetime) -> int:
    """Try again now what failed or waits for its next try; returns how many files."""
    ids = await tx.column(Q["retry_files"], channel_id=channel_id, now=now)
    await queue_files(tx, ids)
    await line_up(tx, ids, now=now)
    return len(ids)
