"""What people ask for, on the tables: each function is a statement or two of one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import clear_channels

Q = load_queries(__name__)

Direction = Literal["both", "forward", "backward"]
Trigger = Literal["person", "reset"]
Tier = Literal["HOT", "WARM", "COLD"]
ScanStatus = Literal["QUEUED", "RUNNING", "SUCCEEDED", "CANCELLED", "FAILED"]


@dataclass(frozen=True)
class RequestedStream:
    """What a request for a scan depends on."""

    channel_id: UUID
    title: str
    switched_off: str
    """Title of what is off, the channel itself or something above it; empty if all is on."""
    reader: str
    reader_state: str


@dataclass(frozen=True)
class ScanWish:
    """How a person wants a stream to be read."""

    direction: Direction = "both"
    page_limit: int = 100
    """Messages a batch."""
    auto_continue: bool = True
    """Batch after batch to the end; otherwise one and no more."""


@dataclass(frozen=True)
class ScanProgress:
    """How far a scan has come."""

    id: UUID
    status: ScanStatus
    error_message: str
    pages: int
    messages: int
    items: int
    head_calls: int
    read_calls: int
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def ended(self) -> bool:
        return self.status not in {"QUEUED", "RUNNING"}


@dataclass(frozen=True)
class Holdings:
    """What hangs on channels."""

    channels: int
    items: int
    sightings: int
    misses: int
    scans: int


@dataclass(frozen=True)
class HandedOver:
    """What became of the streams that an account read."""

    passed_on: int
    left_alone: int


async def list_family(tx: Tx, channel_id: UUID) -> list[UUID]:
    """Return a channel and all that stands below it."""
    return await tx.column(Q["list_family"], channel_id=channel_id)


async def lock_stream(tx: Tx, channel_id: UUID) -> RequestedStream | None:
    return await tx.one(RequestedStream, Q["lock_stream"], channel_id=channel_id)


async def insert_scan(
    tx: Tx, channel_id: UUID, wish: ScanWish, *, scan_id: UUID, trigger: Trigger, now: datetime
) -> bool:
    """Begin a scan; false if one is under way."""
    return (
        await tx.execute(
            Q["insert_scan"], id=scan_id, channel_id=channel_id, trigger=trigger, now=now, **vars(wish)
        )
        == 1
    )


async def widen_scan(tx: Tx, channel_id: UUID, wish: ScanWish, *, now: datetime) -> UUID:
    """Let the scan that is under way do what is wished for too; returns its id."""
    return await tx.value(Q["widen_scan"], channel_id=channel_id, now=now, **vars(wish))


async def want_history(tx: Tx, channel_id: UUID, *, auto_continue: bool) -> None:
    """Want what a sample left out of a stream's history."""
    await tx.execute(Q["want_history"], channel_id=channel_id, auto_continue=auto_continue)


async def hold_streams(tx: Tx, channel_ids: Sequence[UUID], *, reason: str | None = None) -> None:
    await tx.execute(Q["hold_streams"], channel_ids=list(channel_ids), reason=reason)


async def lock_streams(tx: Tx, channel_ids: Sequence[UUID]) -> None:
    await tx.column(Q["lock_streams"], channel_ids=list(channel_ids))


async def cancel_scans(tx: Tx, channel_ids: Sequence[UUID], *, message: str, now: datetime) -> int:
    return await tx.execute(Q["cancel_scans"], channel_ids=list(channel_ids), message=message, now=now)


async def request_check(tx: Tx, channel_id: UUID, *, now: datetime) -> None:
    """Make a stream due because a person waits for its scan."""
    await tx.execute(Q["request_check"], channel_id=channel_id, now=now)


async def get_reader_id(tx: Tx, channel_id: UUID) -> UUID | None:
    return await tx.value(Q["get_reader_id"], channel_id=channel_id)


async def make_due(tx: Tx, channel_ids: Sequence[UUID], *, now: datetime) -> int:
    """Make streams due that were switched on; returns how many are."""
    return await tx.value(Q["make_due"], channel_ids=list(channel_ids), now=now)


async def forget_reading(tx: Tx, channel_id: UUID) -> None:
    """Forget what was read of a stream, with all that is known of the reading."""
    for query in (Q["reset_stream"], Q["reset_coverage"], Q["delete_holes"], Q["delete_bookmarks"]):
        await tx.execute(query, channel_id=channel_id)


async def reopen_near(tx: Tx, channel_id: UUID, positions: Sequence[int], *, messages: int) -> None:
    """Have about so many messages before and after each position read again; the stream is locked."""
    await tx.execute(Q["reopen_near"], channel_id=channel_id, positions=list(positions), messages=messages)


async def list_messages_near(
    tx: Tx, channel_id: UUID, positions: Sequence[int], *, messages: int
) -> list[str]:
    """Return known messages near positions; none where pages can be asked for by their place."""
    return await tx.column(
        Q["list_messages_near"], channel_id=channel_id, positions=list(positions), messages=messages
    )


async def list_jobs_of(tx: Tx, keys: Sequence[str]) -> list[str]:
    """Return the names of the jobs of all kinds whose keys are these."""
    return await tx.column(Q["list_jobs_of"], keys=list(keys))


async def count_holdings(tx: Tx, channel_ids: Sequence[UUID]) -> Holdings:
    counted = await tx.one(Holdings, Q["count_holdings"], channel_ids=list(channel_ids))
    return counted or Holdings(0, 0, 0, 0, 0)


async def delete_channels(tx: Tx, channel_ids: Sequence[UUID], *, now: datetime) -> int:
    """Delete channels and everything that hangs on them; returns how many there were."""
    await tx.execute(Q["take_time"])
    await tx.execute(Q["remember_removed"], channel_ids=list(channel_ids), now=now)
    await clear_channels(tx, channel_ids)
    await tx.execute(Q["delete_sightings"], channel_ids=list(channel_ids))
    return await tx.execute(Q["delete_channels"], channel_ids=list(channel_ids))


async def discard_letters(tx: Tx, keys: Sequence[str], *, now: datetime) -> int:
    return await tx.execute(Q["discard_letters"], keys=list(keys), now=now)


async def set_tier(tx: Tx, channel_id: UUID, *, tier: Tier | None, now: datetime) -> bool:
    """Pin a tier, or let it follow the arrival rate again."""
    return await tx.execute(Q["set_tier"], channel_id=channel_id, tier=tier, now=now) == 1


async def set_floor(tx: Tx, channel_id: UUID, *, floor: int, now: datetime) -> bool:
    return await tx.execute(Q["set_floor"], channel_id=channel_id, floor=floor, now=now) == 1


async def hand_over(tx: Tx, account_id: UUID, *, keep: bool, now: datetime) -> HandedOver:
    """Pass an account's streams to stand-bys; `keep` what nobody else can read, or let it be nobody's."""
    done = await tx.one(HandedOver, Q["hand_over"], account_id=account_id, keep=keep, now=now)
    return done or HandedOver(0, 0)


async def wake_account(tx: Tx, account_id: UUID, *, now: datetime) -> int:
    return await tx.execute(Q["wake_account"], account_id=account_id, now=now)


async def get_scan_progress(tx: Tx, scan_id: UUID) -> ScanProgress | None:
    return await tx.one(ScanProgress, Q["get_scan_progress"], id=scan_id)
