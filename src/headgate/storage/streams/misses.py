"""Misses: messages that cannot be read, and sightings of which no item can be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.streams.misses import MISS_CAP, Retry, list_tries, next_try
from headgate.domain.text import storable
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

Stage = Literal["read", "ingest"]
State = Literal["open", "abandoned"]
Standing = Literal["unread", "missed", "waiting", "settled"]


@dataclass(frozen=True)
class Failure:
    """Why no item could be made of a sighting."""

    message_key: str
    attachment_key: str
    error_class: str
    error_message: str


@dataclass(frozen=True)
class Miss:
    """A miss as its job sees it."""

    id: UUID
    channel_id: UUID
    message_key: str
    attachment_key: str
    stage: Stage
    state: State
    attempts: int
    due_at: datetime | None
    wake_seq: int
    standing: Standing
    """A message that is `unread`; a sighting that is `missed`, `waiting` for ingesting, or `settled`."""


@dataclass(frozen=True)
class MissSeen:
    """A miss as people see it."""

    id: UUID
    channel_id: UUID
    channel_title: str
    message_key: str
    attachment_key: str
    file_name: str
    stage: Stage
    state: State
    error_class: str
    error_message: str
    attempts: int
    due_at: datetime | None
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True)
class Retryable:
    """A miss that a person may want to retry."""

    id: UUID
    switched_off: str
    """Title of what keeps its channel off; empty if nothing does."""


@dataclass(frozen=True)
class MissCount:
    """How many misses of a channel are in one state."""

    channel_id: UUID
    channel_title: str
    state: State
    misses: int


async def note_unreadable(
    tx: Tx,
    channel_id: UUID,
    message_keys: Sequence[str],
    *,
    ids: Ids,
    now: datetime,
    cap: int = MISS_CAP,
    attempts: int = 1,
    error_class: str = "Malformed",
    error_message: str = "the message cannot be parsed",
) -> int:
    """Remember messages that cannot be read; returns how many are new."""
    keys = list(dict.fromkeys(message_keys))
    if not keys:
        return 0
    decision = next_try(attempts, now, cap=cap)
    return await tx.execute(
        Q["note_unreadable"],
        channel_id=channel_id,
        ids=[ids.new() for _ in keys],
        message_keys=keys,
        attempts=attempts,
        error_class=error_class,
        error_message=storable(error_message),
        due_at=decision.at if isinstance(decision, Retry) else None,
        now=now,
    )


async def clear_read(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> int:
    """Forget that messages could not be read, because they were read now."""
    if not message_keys:
        return 0
    return await tx.execute(Q["clear_read"], channel_id=channel_id, message_keys=list(message_keys))


async def note_failed_sightings(
    tx: Tx, channel_id: UUID, failures: Sequence[Failure], *, ids: Ids, now: datetime, cap: int = MISS_CAP
) -> None:
    """Count a failed attempt for each, and keep them from holding up what waits beside them."""
    if not failures:
        return
    message_keys = [failure.message_key for failure in failures]
    attachment_keys = [failure.attachment_key for failure in failures]
    # The sightings first, as accepting messages locks them before their misses.
    await tx.execute(
        Q["mark_missed"], channel_id=channel_id, message_keys=message_keys, attachment_keys=attachment_keys
    )
    await tx.execute(
        Q["note_failed_sightings"],
        channel_id=channel_id,
        ids=[ids.new() for _ in failures],
        message_keys=message_keys,
        attachment_keys=attachment_keys,
        error_classes=[failure.error_class for failure in failures],
        error_messages=[storable(failure.error_message) for failure in failures],
        tries=list_tries(now, cap=cap),
        now=now,
    )


async def resolve(
    tx: Tx, channel_id: UUID, *, message_keys: Sequence[str], attachment_keys: Sequence[str]
) -> int:
    """Forget the misses of sightings that have become items."""
    return await tx.execute(
        Q["resolve"],
        channel_id=channel_id,
        message_keys=list(message_keys),
        attachment_keys=list(attachment_keys),
    )


async def drop_misses(tx: Tx, channel_id: UUID, *, message_key: str) -> int:
    """Forget all misses of a message that was deleted."""
    return await tx.execute(Q["drop_misses"], channel_id=channel_id, message_key=message_key)


async def delete_miss(tx: Tx, miss_id: UUID) -> None:
    await tx.execute(Q["delete_miss"], id=miss_id)


async def list_misses(
    tx: Tx,
    *,
    channel_id: UUID | None = None,
    state: State | None = None,
    below: UUID | None = None,
    limit: int = 100,
) -> list[MissSeen]:
    """Return a page, newest first, below the last one of the page before."""
    return await tx.all(
        MissSeen, Q["list_misses"], channel_id=channel_id, state=state, below=below, limit=limit
    )


async def count_misses(tx: Tx, *, channel_id: UUID | None = None) -> list[MissCount]:
    return await tx.all(MissCount, Q["count_misses"], channel_id=channel_id)


async def list_retryable(
    tx: Tx, ids: Sequence[UUID] | None = None, *, channel_id: UUID | None = None
) -> list[Retryable]:
    """Return the named misses, a channel's, or all, in the order in which they are locked."""
    wanted = None if ids is None else list(ids)
    return await tx.all(Retryable, Q["list_retryable"], ids=wanted, channel_id=channel_id)


async def list_by_ending(tx: Tx, ending: str) -> list[UUID]:
    """Return the misses whose id ends so, at most two: more than one is too many."""
    return await tx.column(Q["list_by_ending"], ending=ending)


async def reopen_misses(tx: Tx, miss_ids: Sequence[UUID], *, now: datetime) -> list[UUID]:
    """Make misses due as if nothing had failed yet; returns those that are there."""
    return await tx.column(Q["reopen_misses"], ids=list(miss_ids), now=now)


async def list_due_misses(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_misses"], now=now, limit=limit)


async def get_miss(tx: Tx, miss_id: UUID) -> Miss | None:
    return await tx.one(Miss, Q["get_miss"], id=miss_id)


async def fail_try(
    tx: Tx, miss: Miss, *, error_class: str, error_message: str, now: datetime, cap: int = MISS_CAP
) -> bool:
    """End a try that failed; true if a person wants another one at once."""
    decision = next_try(miss.attempts + 1, now, cap=cap)
    due_now = await tx.value(
        Q["fail_try"],
        id=miss.id,
        seen=miss.wake_seq,
        attempts=miss.attempts + 1,
        error_class=error_class,
        error_message=storable(error_message),
        due_at=decision.at if isinstance(decision, Retry) else None,
        now=now,
    )
    return bool(due_now)


async def postpone_try(tx: Tx, miss: Miss, *, due_at: datetime, now: datetime) -> bool:
    """End a try that did not happen; true if a person wants one at once."""
    return bool(await tx.value(Q["postpone_try"], id=miss.id, seen=miss.wake_seq, due_at=due_at, now=now))


async def release_sightings(tx: Tx, channel_id: UUID, *, message_key: str, recheck_at: datetime) -> int:
    """Let ingesting try again what it missed of a message; the misses stay until it succeeds or fails."""
    released = await tx.execute(Q["release_sightings"], channel_id=channel_id, message_key=message_key)
    await tx.execute(Q["await_ingest"], channel_id=channel_id, message_key=message_key, due_at=recheck_at)
    return released


async def set_miss_due(tx: Tx, miss_id: UUID, *, due_at: datetime | None) -> None:
    await tx.execute(Q["set_miss_due"], id=miss_id, due_at=due_at)
