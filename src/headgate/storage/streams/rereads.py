"""Rereads on the tables: where edits may be unheard of, and how far reading again is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.streams.messages import Lens, Span
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Reread:
    """One stream's recent messages, being read again."""

    channel_id: UUID
    key: str
    seq: int
    unheard_since: datetime
    attempts: int
    began_at: datetime
    floor: int
    head_end: int
    """One above the newest position."""
    bound: int
    """What lies from here on was first read after the gap."""
    lenses: Sequence[Lens]
    """What is left to read through; the first is being read."""
    below: int
    """The first lens has been read down to here."""


async def plan_rereads(tx: Tx, *, every_s: float) -> None:
    """Plan rereads of streams that no listener hears."""
    await tx.execute(Q["plan_rereads"], every_s=every_s)


async def ask_rereads(
    tx: Tx, account_id: UUID, *, window_s: float, every_s: float, gap_began: datetime, now: datetime
) -> None:
    """Have what an account's listener did not hear read again; call it before the listener signs."""
    if window_s > 0:
        await tx.execute(
            Q["ask_rereads"],
            account_id=account_id,
            window_s=window_s,
            every_s=every_s,
            gap_began=gap_began,
            now=now,
        )


async def rest_quiet_rereads(
    tx: Tx, windows_s: Mapping[str, float], *, every_s: float, now: datetime
) -> None:
    """Plan anew what is due of streams in which nothing is recent."""
    await tx.execute(
        Q["rest_quiet_rereads"],
        platforms=list(windows_s),
        windows_s=list(windows_s.values()),
        every_s=every_s,
        now=now,
    )


async def list_rereading_accounts(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_rereading_accounts"], now=now, limit=limit)


async def get_next_reread(tx: Tx, account_id: UUID, *, now: datetime) -> Reread | None:
    return await tx.one(Reread, Q["get_next_reread"], account_id=account_id, now=now)


async def continue_reread(
    tx: Tx, reread: Reread, *, lenses: Sequence[Lens], below: int, now: datetime
) -> None:
    """Note how far it is; the next page is due now."""
    await tx.execute(
        Q["continue_reread"],
        channel_id=reread.channel_id,
        seen=reread.seq,
        began_at=reread.began_at,
        bound=reread.bound,
        lenses=list(lenses),
        below=below,
        now=now,
    )


async def end_reread(tx: Tx, reread: Reread, *, every_s: float) -> None:
    await tx.execute(
        Q["end_reread"],
        channel_id=reread.channel_id,
        seen=reread.seq,
        began_at=reread.began_at,
        every_s=every_s,
    )


async def postpone_reread(tx: Tx, reread: Reread, *, due_at: datetime, attempts: int) -> None:
    await tx.execute(
        Q["postpone_reread"],
        channel_id=reread.channel_id,
        seen=reread.seq,
        due_at=due_at,
        attempts=attempts,
    )


async def set_rereads_due(tx: Tx, account_id: UUID, *, due_at: datetime, now: datetime) -> None:
    await tx.execute(Q["set_rereads_due"], account_id=account_id, due_at=due_at, now=now)


async def list_vanished(
    tx: Tx, channel_id: UUID, span: Span, *, asked_at: datetime, keys: Sequence[str]
) -> list[str]:
    """Return the keys of stored messages in a range that are not among those that were read."""
    return await tx.column(
        Q["list_vanished"],
        channel_id=channel_id,
        start=span.start,
        end=span.end,
        asked_at=asked_at,
        keys=list(keys),
    )
