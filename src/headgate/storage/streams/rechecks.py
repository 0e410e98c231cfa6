"""Rechecks: wishes to look at one message again, fulfilled only by a fetch that began after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.streams.misses import MISS_CAP, GiveUp, next_try
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.streams.misses import note_unreadable

Q = load_queries(__name__)


@dataclass(frozen=True)
class Recheck:
    """A wish to look at one message again."""

    channel_id: UUID
    message_key: str
    seq: int
    reason: str
    attempts: int
    due_at: datetime | None


async def ask_rechecks(
    tx: Tx, channel_id: UUID, message_keys: Sequence[str], *, reason: str, due_at: datetime, now: datetime
) -> None:
    """Wish that messages are fetched again; a fetch that is under way does not count."""
    keys = list(dict.fromkeys(message_keys))
    if keys:
        await tx.execute(
            Q["ask_rechecks"], channel_id=channel_id, message_keys=keys, reason=reason, due_at=due_at, now=now
        )


async def list_due_rechecks(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_rechecks"], now=now, limit=limit)


async def get_recheck(tx: Tx, channel_id: UUID, *, message_key: str) -> Recheck | None:
    return await tx.one(Recheck, Q["get_recheck"], channel_id=channel_id, message_key=message_key)


async def clear_recheck(tx: Tx, recheck: Recheck) -> bool:
    """Fulfil a wish as it was seen before the fetch; false if there is a newer one."""
    cleared = await tx.execute(
        Q["clear_recheck"],
        channel_id=recheck.channel_id,
        message_key=recheck.message_key,
        seen=recheck.seq,
    )
    return cleared == 1


async def postpone_recheck(tx: Tx, recheck: Recheck, *, due_at: datetime, attempts: int) -> None:
    """Try again later, unless there is a newer wish."""
    await tx.execute(
        Q["postpone_recheck"],
        channel_id=recheck.channel_id,
        message_key=recheck.message_key,
        seen=recheck.seq,
        attempts=attempts,
        due_at=due_at,
    )


async def fail_recheck(
    tx: Tx,
    recheck: Recheck,
    *,
    error_class: str,
    error_message: str,
    ids: Ids,
    now: datetime,
    cap: int = MISS_CAP,
) -> None:
    """Count a failed attempt; at the cap the wish becomes a miss that people see and can retry."""
    attempts = recheck.attempts + 1
    decision = next_try(attempts, now, cap=cap)
    if not isinstance(decision, GiveUp):
        await postpone_recheck(tx, recheck, due_at=decision.at, attempts=attempts)
        return
    # The miss first, in the order of accepting messages; reading the message clears it.
    await note_unreadable(
        tx,
        recheck.channel_id,
        [recheck.message_key],
        ids=ids,
        now=now,
        cap=cap,
        attempts=attempts,
        error_class=error_class,
        error_message=error_message,
    )
    await clear_recheck(tx, recheck)


async def set_recheck_due(tx: Tx, channel_id: UUID, *, message_key: str, due_at: datetime | None) -> None:
    await tx.execute(Q["set_recheck_due"], channel_id=channel_id, message_key=message_key, due_at=due_at)
