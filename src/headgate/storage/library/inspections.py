"""Inspections: wishes to look inside an item's stored files, and what was found there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.library.archive_sets.volume_headers import SetProof
from headgate.domain.library.contents import ArchiveEntry, Listing
from headgate.domain.library.inspections import InspectionState, ItemFile
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import queue_items

Q = load_queries(__name__)

MAX_FILES = 10_000
"""Files of one item that are looked at: all volumes, with several copies of each."""
_MAX_DETAIL_LENGTH = 500
NO_LISTING = Listing()


@dataclass(frozen=True)
class Inspection:
    """What is known of the inside of an item's files, and when to look again."""

    item_id: UUID
    due_at: datetime | None
    seq: int
    attempts: int
    needs_bytes: int
    """It waits until so much may be written to the disk; 0: it does not wait for room."""
    state: InspectionState
    problems: list[str]
    detail: str
    format: str
    is_solid: bool
    entry_count: int
    unpacked_bytes: int
    volumes: list[UUID | None]
    """The blobs that were read, in their order; None for a volume that is missing."""
    proven_total: int | None
    proof_reason: str
    picture_key: str
    picture_source: str
    picture_colour: str
    inspected_at: datetime | None


@dataclass(frozen=True)
class Inspected:
    """What one look came to."""

    state: InspectionState
    volumes: tuple[UUID | None, ...] = ()
    listing: Listing = NO_LISTING
    proof: SetProof | None = None


async def note_inspection(tx: Tx, item_ids: Iterable[UUID], now: datetime) -> None:
    """Wish that the files of items are looked into; call it whenever an item's stored files change."""
    if ids := sorted(set(item_ids)):
        await tx.execute(Q["note_inspections"], item_ids=ids, now=now)


async def list_due_inspections(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_inspections"], now=now, limit=limit)


async def set_inspection_due(tx: Tx, item_id: UUID, *, due_at: datetime) -> None:
    await tx.execute(Q["set_inspection_due"], item_id=item_id, due_at=due_at)


async def get_inspection(tx: Tx, item_id: UUID) -> Inspection | None:
    return await tx.one(Inspection, Q["get_inspection"], item_id=item_id)


async def list_item_files(tx: Tx, item_id: UUID) -> list[ItemFile]:
    """Return the files of an item; several may be copies of one volume."""
    return await tx.all(ItemFile, Q["list_item_files"], item_id=item_id, limit=MAX_FILES)


async def wait_for_room(tx: Tx, seen: Inspection, *, needs_bytes: int, due_at: datetime) -> None:
    """Note how much room a look needs, and when it is tried again."""
    await tx.execute(
        Q["wait_for_room"], item_id=seen.item_id, seen=seen.seq, needs_bytes=needs_bytes, due_at=due_at
    )


async def note_proof(tx: Tx, seen: Inspection, *, proven_total: int | None) -> bool:
    """Note how many volumes an item has; false if its files have changed since the look began."""
    return (
        await tx.execute(Q["note_proof"], item_id=seen.item_id, seen=seen.seq, proven_total=proven_total) == 1
    )


async def settle_inspection(
    tx: Tx, seen: Inspection, result: Inspected, *, same_entries: bool, now: datetime
) -> bool:
    """Store what a look came to; false, with nothing changed, if the files have changed since it began."""
    listing, proof = result.listing, result.proof
    settled = await tx.execute(
        Q["settle_inspection"],
        item_id=seen.item_id,
        seen=seen.seq,
        state=result.state,
        problems=list(listing.problems),
        detail=_storable(listing.detail),
        format=listing.format or "",
        is_solid=listing.is_solid,
        entry_count=seen.entry_count if same_entries else len(listing.entries),
        unpacked_bytes=seen.unpacked_bytes if same_entries else listing.unpacked_bytes,
        volumes=list(result.volumes),
        proven_total=proof.total_volumes if proof and proof.state != "contradictory" else None,
        proof_reason=proof.reason if proof else "",
        now=now,
    )
    if not settled:
        return False
    await queue_items(tx, [seen.item_id])
    if not same_entries:
        await tx.execute(Q["delete_entries"], item_id=seen.item_id)
        if listing.entries:
            await tx.execute(Q["insert_entries"], item_id=seen.item_id, **_columns(listing.entries))
    return True


def _columns(entries: Sequence[ArchiveEntry]) -> dict[str, list[object]]:
    """Return entries as arrays; -1 stands for what is not known, since flat lists are written quickly."""
    return {
        "numbers": [entry.number for entry in entries],
        "paths": [entry.path for entry in entries],
        "sizes": [-1 if entry.size_bytes is None else entry.size_bytes for entry in entries],
        "packed": [-1 if entry.packed_bytes is None else entry.packed_bytes for entry in entries],
        "modified": [
            -1 if entry.modified_at is None else int(entry.modified_at.timestamp()) for entry in entries
        ],
        "directories": [entry.is_directory for entry in entries],
        "encrypted": [entry.is_encrypted for entry in entries],
        "links": [entry.is_link for entry in entries],
    }


def _storable(detail: str) -> str:
    """Return what a reader said without what a column refuses; it may quote bytes of the archive."""
    return detail.encode("utf-8", "replace").decode().replace("\0", "")[:_MAX_DETAIL_LENGTH]
