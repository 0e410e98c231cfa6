"""Lines of files to fetch, a channel each, and the slots of accounts that serve them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

LEASE_S = 120.0
"""How long a file is taken for; a download renews it."""
SMALL_BYTES = 2**20
"""Files up to this size are fetched together."""
BATCH = 50


@dataclass(frozen=True)
class Line:
    """A channel with due files, locked."""

    channel_id: UUID
    switched_off: bool


@dataclass(frozen=True)
class FetchFile:
    """A file that was taken, with all that its download needs."""

    sighting_id: UUID
    channel_id: UUID
    platform: str
    stream_key: str
    message_key: str
    attachment_key: str
    content_id: str
    source: str
    size_bytes: int
    """0: unknown."""
    starts: int
    """How often it was taken without an orderly end, this time included."""
    attempts: int
    spooled_bytes: int
    failed_before: bool
    """Its link may have expired."""

    @property
    def key(self) -> str:
        """The key of its spool and of its room."""
        return str(self.sighting_id)

    @property
    def small(self) -> bool:
        return 0 < self.size_bytes <= SMALL_BYTES


async def list_due_slots(tx: Tx, *, slots: int, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due"], slots=slots, now=now, limit=limit)


async def rest_slot(tx: Tx, account_id: UUID, slot: int, *, until: datetime) -> None:
    await tx.execute(Q["rest_slot"], account_id=account_id, slot=slot, until=until)


async def lock_line(
    tx: Tx, account_id: UUID, *, passed: Sequence[UUID], fair: bool, now: datetime
) -> Line | None:
    """Lock the next line of an account, other than those it has passed over."""
    return await tx.one(Line, Q["lock_line"], account_id=account_id, passed=list(passed), fair=fair, now=now)


async def wake_fitting(tx: Tx, channel_id: UUID, *, room_bytes: int, now: datetime) -> int:
    """Let what waited for room go on, as far as there is room by now."""
    return await tx.execute(Q["wake_fitting"], channel_id=channel_id, room_bytes=room_bytes, now=now)


async def take_files(
    tx: Tx, channel_id: UUID, *, taken_by: UUID, machine: str, limit: int = BATCH, now: datetime
) -> list[FetchFile]:
    """Take the next file of a locked line, or several small ones."""
    return await tx.all(
        FetchFile,
        Q["take_files"],
        channel_id=channel_id,
        taken_by=taken_by,
        machine=machine,
        lease_s=LEASE_S,
        small_bytes=SMALL_BYTES,
        limit=limit,
        now=now,
    )


async def settle_line(tx: Tx, channel_id: UUID, *, now: datetime) -> None:
    """Say when a locked line is due again, after files were taken from it; an empty one goes."""
    if await tx.value(Q["settle_line"], channel_id=channel_id, now=now):
        await tx.execute(Q["delete_line"], channel_id=channel_id)


async def postpone_line(tx: Tx, channel_id: UUID, *, until: datetime, now: datetime) -> None:
    await tx.execute(Q["postpone_line"], channel_id=channel_id, until=until, now=now)


async def line_up(tx: Tx, sighting_ids: Sequence[UUID], *, now: datetime) -> None:
    """Note that files were made wanted; the last statement of whoever does so."""
    if sighting_ids:
        await tx.execute(Q["line_up"], ids=list(sighting_ids), now=now)
