"""Streams: which are due, what is there to read, what has been read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.domain.streams.coverage import Hole
from headgate.domain.streams.messages import Head, Lens, Span
from headgate.domain.streams.schedule import Tier, Waiting
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

KEEP_DECISIONS = 50


class DueStream(NamedTuple):
    """A stream that is due, or that fills up a call, with everything that the schedule decides by.

    A tuple, because a look makes a hundred of them: a frozen dataclass costs six times as much.
    """

    channel_id: UUID
    key: str
    due: bool
    wake_seq: int
    woken: bool
    scanned: bool
    head: int | None
    idle_scans: int
    idle_at: datetime | None
    checked_at: datetime | None
    tier: Tier
    tier_pinned: bool
    arrival_rate: float
    rated_at: datetime | None
    lenses: list[Lens]
    breaker_until: datetime | None
    waiting: Waiting | None
    settling: bool
    """It is due for the sake of a person who has asked before."""
    behind: bool


@dataclass(frozen=True)
class Checked:
    """What a stream's head says together with its coverage."""

    channel_id: UUID
    behind: bool
    failing: bool


@dataclass(frozen=True)
class Planned:
    """What was decided about a stream."""

    channel_id: UUID
    seen: int
    due_at: datetime | None
    reason: str
    tier: Tier
    idle_scans: int
    idle_at: datetime | None
    saved: int = 0
    """Readings that were not needed, because the head told enough."""


@dataclass(frozen=True)
class LockedStream:
    """A stream that this transaction has to itself."""

    epoch: int
    head: int | None
    lenses: list[Lens]
    arrival_rate: float
    rated_at: datetime | None


class _Unread(NamedTuple):
    position: int
    uncounted: bool


@dataclass(frozen=True)
class _HoleRow:
    lens: Lens
    start: int
    end: int
    bookmark: str


async def list_due_accounts(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_accounts"], now=now, limit=limit)


async def list_next_streams(tx: Tx, account_id: UUID, *, now: datetime, limit: int) -> list[DueStream]:
    """Return the account's next streams, the longest due first; those that are not due yet fill up a call."""
    return await tx.all(DueStream, Q["list_next_streams"], account_id=account_id, now=now, limit=limit)


async def check_streams(tx: Tx, channel_ids: Sequence[UUID], *, now: datetime) -> dict[UUID, Checked]:
    """Tell of each stream whether there is something to read, and whether something has failed."""
    if not channel_ids:
        return {}
    rows = await tx.all(Checked, Q["check_streams"], channel_ids=list(channel_ids), now=now)
    return {row.channel_id: row for row in rows}


async def lock_streams(tx: Tx, channel_ids: Sequence[UUID]) -> None:
    await tx.execute(Q["lock_streams"], channel_ids=list(channel_ids))


async def raise_heads(tx: Tx, heads: Mapping[UUID, Head], *, now: datetime) -> None:
    """Note the heads that a call returned."""
    if heads:
        await tx.execute(
            Q["raise_heads"],
            channel_ids=list(heads),
            heads=[head.position for head in heads.values()],
            sent_ats=[head.sent_at for head in heads.values()],
            now=now,
        )


async def plan_streams(tx: Tx, plans: Sequence[Planned], *, account_id: UUID, now: datetime) -> set[UUID]:
    """Write what was decided; returns the streams for which it still holds."""
    if not plans:
        return set()
    held = await tx.column(
        Q["plan_streams"],
        account_id=account_id,
        now=now,
        channel_ids=[plan.channel_id for plan in plans],
        seen=[plan.seen for plan in plans],
        due_ats=[plan.due_at for plan in plans],
        reasons=[plan.reason for plan in plans],
        tiers=[plan.tier for plan in plans],
        idle_scans=[plan.idle_scans for plan in plans],
        idle_ats=[plan.idle_at for plan in plans],
        saved=[plan.saved for plan in plans],
    )
    return set(held)


async def note_decisions(tx: Tx, reasons: Mapping[UUID, str], *, now: datetime) -> None:
    if reasons:
        await tx.execute(
            Q["note_decisions"],
            channel_ids=list(reasons),
            reasons=list(reasons.values()),
            now=now,
            keep=KEEP_DECISIONS - 1,
        )


async def wake_stream(tx: Tx, channel_id: UUID, *, due_at: datetime) -> None:
    """Make a stream due because something was heard of it, or became wanted."""
    await tx.execute(Q["wake_stream"], channel_id=channel_id, due_at=due_at)


async def make_due(tx: Tx, channel_id: UUID, *, due_at: datetime, reason: str) -> None:
    """Let the next look take a stream, also one that is out of the schedule."""
    await tx.execute(Q["make_due"], channel_id=channel_id, due_at=due_at, reason=reason)


async def wake_if_behind(tx: Tx, channel_id: UUID, *, due_at: datetime) -> None:
    """Make a stream due if anything below its head is not covered."""
    await tx.execute(Q["wake_if_behind"], channel_id=channel_id, due_at=due_at)


async def bring_forward(
    tx: Tx, account_id: UUID, *, intervals_s: Mapping[Tier, float], gap_began: datetime, now: datetime
) -> None:
    """Bring the due times forward to what they would be without a listener; to now if none ran since."""
    await tx.execute(
        Q["bring_forward"],
        account_id=account_id,
        tiers=list(intervals_s),
        intervals_s=list(intervals_s.values()),
        gap_began=gap_began,
        now=now,
    )


async def set_lenses(tx: Tx, lenses: Mapping[UUID, Sequence[Lens]]) -> None:
    """Let streams be read through other lenses."""
    if lenses:
        named = [" ".join(each) for each in lenses.values()]
        await tx.execute(Q["set_lenses"], channel_ids=list(lenses), lenses=named)


async def postpone_account(tx: Tx, account_id: UUID, *, until: datetime, now: datetime) -> None:
    await tx.execute(Q["postpone_account"], account_id=account_id, until=until, now=now)


async def reopen_account(tx: Tx, account_id: UUID, *, now: datetime) -> None:
    await tx.execute(Q["reopen_account"], account_id=account_id, now=now)


async def get_read_at(tx: Tx, channel_id: UUID) -> datetime | None:
    """Return up to when a stream is known to have been read."""
    return await tx.value(Q["get_read_at"], channel_id=channel_id)


async def lock_stream(tx: Tx, channel_id: UUID) -> LockedStream | None:
    """Have a stream to ourselves until the transaction ends."""
    return await tx.one(LockedStream, Q["lock_stream"], channel_id=channel_id)


async def list_unread(tx: Tx, channel_id: UUID, keys: Mapping[int, str], *, lens: Lens) -> dict[int, bool]:
    """Return the positions that a lens has not read since the last reset, and whether none ever has.

    `keys` has the key of the message at each position.
    """
    if not keys:
        return {}
    rows = await tx.all(
        _Unread,
        Q["list_unread"],
        channel_id=channel_id,
        lens=lens,
        positions=list(keys),
        keys=list(keys.values()),
    )
    return dict(rows)


async def mark_counted(tx: Tx, channel_id: UUID, keys: Sequence[str]) -> None:
    """Remember that messages count as read, although their lens covers more than it sees."""
    if keys:
        await tx.execute(Q["mark_counted"], channel_id=channel_id, keys=list(keys))


async def cover(tx: Tx, channel_id: UUID, *, lens: Lens, spans: Sequence[Span]) -> None:
    """Add what was proven."""
    proven = [span for span in spans if not span.empty]
    if proven:
        await tx.execute(
            Q["cover"],
            channel_id=channel_id,
            lens=lens,
            starts=[span.start for span in proven],
            ends=[span.end for span in proven],
        )


async def count_messages(
    tx: Tx, channel_id: UUID, *, messages: int, arrival_rate: float, now: datetime
) -> None:
    await tx.execute(
        Q["count_messages"], channel_id=channel_id, messages=messages, arrival_rate=arrival_rate, now=now
    )


async def raise_head(tx: Tx, channel_id: UUID, *, head: int | None, now: datetime) -> None:
    """Note a position as the newest, if it is."""
    await tx.execute(Q["raise_head"], channel_id=channel_id, head=head, now=now)


async def list_holes(
    tx: Tx,
    channel_id: UUID,
    *,
    bound: int,
    direction: str,
    now: datetime,
    below: int | None = None,
    limit: int = 6,
) -> list[Hole]:
    """Return the newest holes below the bound; enough to tell the tips of all lenses from what is older.

    With `below` those that reach above it are left out, as too young to be proven.
    """
    rows = await tx.all(
        _HoleRow,
        Q["list_holes"],
        channel_id=channel_id,
        bound=bound,
        direction=direction,
        now=now,
        below=below,
        limit=limit,
    )
    return [Hole(row.lens, Span(row.start, row.end), row.bookmark) for row in rows]


async def note_hole(
    tx: Tx,
    channel_id: UUID,
    hole: Hole,
    *,
    attempts: int,
    next_try_at: datetime,
    error_class: str,
    error_message: str,
    now: datetime,
) -> None:
    """Remember that reading a hole failed."""
    await tx.execute(
        Q["note_hole"],
        channel_id=channel_id,
        lens=hole.lens,
        start=hole.span.start,
        end=hole.span.end,
        attempts=attempts,
        next_try_at=next_try_at,
        error_class=error_class,
        error_message=error_message,
        now=now,
    )


async def count_hole_attempts(tx: Tx, channel_id: UUID, hole: Hole) -> int:
    return await tx.value(
        Q["count_hole_attempts"],
        channel_id=channel_id,
        lens=hole.lens,
        start=hole.span.start,
        end=hole.span.end,
    )


async def move_bookmark(tx: Tx, channel_id: UUID, *, lens: Lens, proven: Span, bookmark: str) -> None:
    """Remember the platform's bookmark to what lies below a span that was read; empty if there is none."""
    if not proven.empty:
        await tx.execute(
            Q["move_bookmark"],
            channel_id=channel_id,
            lens=lens,
            start=proven.start,
            end=proven.end,
            bookmark=bookmark,
        )


async def next_hole_try(tx: Tx, channel_id: UUID) -> datetime | None:
    return await tx.value(Q["next_hole_try"], channel_id=channel_id)


async def count_read(tx: Tx, channel_id: UUID) -> None:
    """Count a call that read a page of a stream or failed to; the lanes count the calls of accounts."""
    await tx.execute(Q["count_read"], channel_id=channel_id)
