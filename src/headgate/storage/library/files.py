"""Files of items: what is being fetched, how that ends, and what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from headgate.storage.arrays import columns
from headgate.storage.database import Tx
from headgate.storage.library.covers import list_covered_items
from headgate.storage.library.fetch_lines import LEASE_S, FetchFile, line_up
from headgate.storage.library.inspections import note_inspection
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import queue_files, queue_items, queue_messages

Q = load_queries(__name__)

SPOOL_HELD = timedelta(minutes=10)
"""How long other machines leave a file alone of which a part has come."""


class ReleasedFile(NamedTuple):
    """How a download ended that has not stored its file."""

    sighting_id: UUID
    due_at: datetime
    attempts: int = 0
    error_class: str = ""
    error_message: str = ""
    given_up: bool = False
    wait_reason: str = ""
    needs_bytes: int = 0
    spooled_bytes: int = 0


@dataclass(frozen=True)
class ClaimedFile:
    """What the limit for a download depends on, where the size of the file is only a claim."""

    topic: str
    asked: bool
    """A person asked for it, whatever settings say."""
    others_bytes: int
    """What is stored of the rest of its set."""


@dataclass(frozen=True)
class PendingFile:
    """A file of a thing that is still to come."""

    sighting_id: UUID
    size_bytes: int


async def lock_taken(tx: Tx, files: Sequence[FetchFile], *, taken_by: UUID) -> set[UUID]:
    """Lock those of the files that are still ours and the same as when they were taken, after their items."""
    ids = [file.sighting_id for file in files]
    await tx.column(Q["lock_items"], ids=ids)
    return set(
        await tx.column(Q["lock_taken"], ids=ids, sources=[file.source for file in files], taken_by=taken_by)
    )


async def complete_files(tx: Tx, blobs: Mapping[UUID, UUID], *, now: datetime) -> None:
    """Give locked files their content, by the ids of sightings, and wake whoever looks into them."""
    if not blobs:
        return
    ids = list(blobs)
    await tx.execute(Q["complete_files"], ids=ids, blob_ids=list(blobs.values()), now=now)
    items: list[UUID] = await tx.column(Q["list_items"], ids=ids)
    await queue_items(tx, items)
    await note_inspection(tx, [*items, *await list_covered_items(tx, ids)], now)


async def renew_take(tx: Tx, sighting_ids: Sequence[UUID], *, taken_by: UUID) -> int:
    """Hold files for longer; returns how many are still ours."""
    return await tx.execute(Q["renew_take"], ids=list(sighting_ids), taken_by=taken_by, lease_s=LEASE_S)


async def release_files(
    tx: Tx, released: Sequence[ReleasedFile], *, taken_by: UUID, machine: str, now: datetime
) -> None:
    """Give files back that were not stored; their lines are due no later than they are."""
    if not released:
        return
    await tx.execute(
        Q["release_files"],
        taken_by=taken_by,
        machine=machine,
        spool_until=now + SPOOL_HELD,
        **columns(ReleasedFile._fields, sorted(released)),
    )
    await queue_files(tx, [each.sighting_id for each in released if each.given_up])
    await line_up(tx, [each.sighting_id for each in released], now=now)


async def release_lost(tx: Tx, taken_by: Sequence[UUID]) -> None:
    """Give back the files of downloads that lost the database before they could."""
    await tx.execute(Q["release_lost"], taken_by=list(taken_by))


async def forget_starts(tx: Tx, sighting_id: UUID, *, taken_by: UUID) -> None:
    """Forgive a file what went wrong before: more of it has come since."""
    await tx.execute(Q["forget_starts"], id=sighting_id, taken_by=taken_by)


async def get_claimed(tx: Tx, sighting_id: UUID) -> ClaimedFile | None:
    return await tx.one(ClaimedFile, Q["get_claimed"], id=sighting_id)


async def list_set_files(tx: Tx, sighting_ids: Sequence[UUID]) -> list[PendingFile]:
    """Return all files of the same things that are still to come, these included."""
    return await tx.all(PendingFile, Q["list_set_files"], ids=list(sighting_ids))


async def list_begun(tx: Tx, sighting_ids: Sequence[UUID]) -> set[UUID]:
    """Return those wanted files of which something has come, or of whose things."""
    return set(await tx.column(Q["list_begun"], ids=list(sighting_ids)))


async def prefer_set(tx: Tx, sighting_ids: Sequence[UUID]) -> None:
    """Let the rest of a set go before what has not begun."""
    await tx.execute(Q["prefer_set"], ids=list(sighting_ids))


async def mark_gone(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> int:
    """Give up what was not fetched of messages that are deleted; returns how many files."""
    await queue_messages(tx, channel_id, message_keys)
    return await tx.execute(Q["mark_gone"], channel_id=channel_id, message_keys=list(message_keys))
