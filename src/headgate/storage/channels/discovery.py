"""Discovery on the tables: when an account's channels are listed again, and what is new among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.channels.following import Whose
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

APART_S = 600.0
"""Unknown streams that are heard have channels listed no more often than this."""


@dataclass(frozen=True)
class Discovery:
    """The work as it was before the call."""

    due_at: datetime | None
    seq: int


async def list_discovering(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_discovering"], now=now, limit=limit)


async def get_discovery(tx: Tx, account_id: UUID) -> Discovery | None:
    return await tx.one(Discovery, Q["get_discovery"], account_id=account_id)


async def note_seen(tx: Tx, account_id: UUID, keys: Sequence[str], *, now: datetime) -> set[str]:
    """Remember what an account sees; returns what is new."""
    return set(await tx.column(Q["note_seen"], account_id=account_id, keys=list(keys), now=now))


async def begin_discovery(tx: Tx, account_id: UUID, *, due_at: datetime, now: datetime) -> None:
    """Have an account's channels listed from now on, if they are not yet."""
    await tx.execute(Q["begin_discovery"], account_id=account_id, due_at=due_at, now=now)


async def list_watched_parents(tx: Tx, keys: Sequence[str], whose: Whose) -> set[str]:
    return set(await tx.column(Q["list_watched_parents"], keys=list(keys), **vars(whose)))


async def list_removed(tx: Tx, keys: Sequence[str], whose: Whose) -> set[str]:
    return set(
        await tx.column(Q["list_removed"], keys=list(keys), platform=whose.platform, scope=whose.scope)
    )


async def forget_removed(tx: Tx, keys: Sequence[str], whose: Whose) -> None:
    await tx.execute(Q["forget_removed"], keys=list(keys), platform=whose.platform, scope=whose.scope)


async def mark_gone(tx: Tx, account_id: UUID, keys: Sequence[str], *, now: datetime) -> int:
    """Mark what an account reads and does not see any more; returns how many channels changed."""
    return await tx.execute(Q["mark_gone"], account_id=account_id, keys=list(keys), now=now)


async def end_discovery(
    tx: Tx,
    account_id: UUID,
    *,
    seen: int,
    due_at: datetime,
    discovered_at: datetime | None,
    error: str,
    now: datetime,
) -> None:
    """Plan the next listing; one that failed keeps the time of the last that did not."""
    await tx.execute(
        Q["end_discovery"],
        account_id=account_id,
        seen=seen,
        due_at=due_at,
        discovered_at=discovered_at,
        error=error,
        now=now,
    )


async def ask_discovery(tx: Tx, account_id: UUID, *, now: datetime, apart_s: float = 0.0) -> bool:
    """Have an account's channels listed now."""
    return await tx.execute(Q["ask_discovery"], account_id=account_id, now=now, apart_s=apart_s) == 1


async def list_unknown(tx: Tx, account_id: UUID, keys: Sequence[str]) -> list[str]:
    return await tx.column(Q["list_unknown"], account_id=account_id, keys=list(keys))


async def set_discovery_due(tx: Tx, account_id: UUID, *, due_at: datetime) -> None:
    await tx.execute(Q["set_discovery_due"], account_id=account_id, due_at=due_at)
