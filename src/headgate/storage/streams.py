"""Streams: what is due, what is there to read, what has been read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.messages import Lens, Span
from headgate.storage.channels import AccountState
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries("streams")


@dataclass(frozen=True)
class ScanState:
    """Everything that a scan decides by."""

    channel_id: UUID
    platform: str
    key: str
    title: str
    enabled: bool
    account_id: UUID | None
    account_name: str | None
    account_state: AccountState | None
    established: bool | None
    floor: int
    head: int | None
    head_checked_at: datetime | None
    tip_after: datetime | None
    wake_seq: int
    lens: Lens
    epoch: int


@dataclass(frozen=True)
class Uncovered:
    """How many of some messages no reading has covered yet."""

    messages: int
    with_items: int


async def list_due_streams(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_streams"], now=now, limit=limit)


async def set_stream_due(tx: Tx, channel_id: UUID, *, due_at: datetime | None) -> None:
    await tx.execute(Q["set_stream_due"], channel_id=channel_id, due_at=due_at)


async def get_scan(tx: Tx, channel_id: UUID) -> ScanState | None:
    return await tx.one(ScanState, Q["get_scan"], channel_id=channel_id)


async def list_next_due_keys(tx: Tx, *, account_id: UUID, channel_id: UUID, limit: int) -> list[str]:
    return await tx.column(Q["list_next_due_keys"], account_id=account_id, channel_id=channel_id, limit=limit)


async def raise_heads(tx: Tx, *, account_id: UUID, heads: Mapping[str, int | None], now: datetime) -> None:
    """Note the heads that a call returned; None for a stream that is empty."""
    await tx.execute(
        Q["raise_heads"], account_id=account_id, keys=list(heads), heads=list(heads.values()), now=now
    )


async def next_hole(tx: Tx, channel_id: UUID, *, lens: Lens, bound: int, with_tip: bool) -> Span | None:
    return await tx.one(
        Span, Q["next_hole"], channel_id=channel_id, lens=lens, bound=bound, with_tip=with_tip
    )


async def lock_and_count(
    tx: Tx, channel_id: UUID, *, positions: Sequence[int], kept: Sequence[bool]
) -> Uncovered:
    counted = await tx.one(
        Uncovered,
        Q["lock_and_count"],
        channel_id=channel_id,
        positions=list(positions),
        kept=list(kept),
    )
    return counted or Uncovered(0, 0)


async def cover(
    tx: Tx, channel_id: UUID, *, lens: Lens, epoch: int, spans: Sequence[Span], counted: Uncovered
) -> bool:
    """Add what was proven, with the counters; nothing if the coverage was reset meanwhile."""
    proven = [span for span in spans if not span.empty]
    if not proven:
        return False
    grown = await tx.execute(
        Q["cover"],
        channel_id=channel_id,
        lens=lens,
        epoch=epoch,
        starts=[span.start for span in proven],
        ends=[span.end for span in proven],
    )
    if grown:
        await tx.execute(
            Q["count_coverage"],
            channel_id=channel_id,
            messages=counted.messages,
            with_items=counted.with_items,
        )
    return bool(grown)


async def end_scan(
    tx: Tx, state: ScanState, *, due_at: datetime, tip_after: datetime | None, now: datetime
) -> bool:
    """End a scan and tell whether the stream is due again at once."""
    return bool(
        await tx.value(
            Q["end_scan"],
            channel_id=state.channel_id,
            seen=state.wake_seq,
            due_at=due_at,
            tip_after=tip_after,
            now=now,
        )
    )


async def raise_head(tx: Tx, channel_id: UUID, *, head: int) -> None:
    """Note a live message's position as the newest, if it is."""
    await tx.execute(Q["raise_head"], channel_id=channel_id, head=head)


async def wake_stream(tx: Tx, channel_id: UUID, *, due_at: datetime) -> None:
    """Make a stream due because something was heard of it."""
    await tx.execute(Q["wake_stream"], channel_id=channel_id, due_at=due_at)
