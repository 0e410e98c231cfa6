"""Pushing out, step by step: what waits becomes one message, which is sent once or marked uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from headgate.domain.breaker import Breaker
from headgate.storage.access.users import Role
from headgate.storage.database import Tx
from headgate.storage.notifications.push_addresses import PushState
from headgate.storage.queries import Query, load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class LockedAddress:
    """An address, locked until the transaction ends."""

    id: UUID
    user_id: UUID
    enabled: bool
    failures: int
    opened: int
    open_until: datetime | None

    @property
    def breaker(self) -> Breaker:
        return Breaker(self.failures, self.opened, self.open_until)


@dataclass(frozen=True)
class PlannedPush:
    """A message that is to go out; `attempts` is how often that was tried."""

    id: UUID
    title: str
    body: str
    attempts: int


@dataclass(frozen=True)
class WaitingNotification:
    """A notification that is to go out."""

    id: UUID
    title: str
    body: str
    url: str
    at: datetime
    number: str
    """Of its chapter, if that has one."""
    is_chapter: bool


async def get_role(tx: Tx, address_id: UUID) -> Role:
    return "admin" if await tx.value(Q["get_role"], id=address_id) == "admin" else "member"


async def list_due(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due"], now=now, limit=limit)


async def set_due(tx: Tx, address_id: UUID, due_at: datetime | None) -> None:
    await tx.execute(Q["set_due"], id=address_id, due_at=due_at)


async def lock_address(tx: Tx, address_id: UUID) -> LockedAddress | None:
    return await tx.one(LockedAddress, Q["lock_address"], id=address_id)


async def doubt_pushes(tx: Tx, address_id: UUID, *, error: str, now: datetime) -> int:
    """Mark what was being sent when its sender vanished; returns how many."""
    return await tx.execute(Q["doubt_pushes"], address_id=address_id, error=error, now=now)


async def get_planned(tx: Tx, address_id: UUID) -> PlannedPush | None:
    return await tx.one(PlannedPush, Q["get_planned"], address_id=address_id)


async def list_waiting(tx: Tx, address_id: UUID) -> list[WaitingNotification]:
    """Return what is to go out; what was read meanwhile is not."""
    await tx.execute(Q["drop_read"], address_id=address_id)
    return await tx.all(WaitingNotification, Q["list_waiting"], address_id=address_id)


async def put_push(
    tx: Tx,
    planned: PlannedPush,
    notification_ids: Sequence[UUID],
    *,
    address_id: UUID,
    now: datetime,
) -> None:
    """Plan a message that tells of these notifications, or renew one. The address must be locked."""
    await _write_push(
        tx, Q["put_push"], planned, notification_ids, address_id=address_id, parameters={"now": now}
    )


async def insert_failed(
    tx: Tx,
    given_up: PlannedPush,
    notification_ids: Sequence[UUID],
    *,
    address_id: UUID,
    error: str,
    now: datetime,
) -> None:
    """Keep what will not go out by itself any more."""
    parameters = {"error": error, "now": now}
    await _write_push(
        tx, Q["insert_failed"], given_up, notification_ids, address_id=address_id, parameters=parameters
    )


async def _write_push(
    tx: Tx,
    query: Query,
    push: PlannedPush,
    notification_ids: Sequence[UUID],
    *,
    address_id: UUID,
    parameters: Mapping[str, Any],
) -> None:
    await tx.execute(
        query,
        id=push.id,
        address_id=address_id,
        title=push.title,
        body=push.body,
        notifications=len(notification_ids),
        **parameters,
    )
    await tx.execute(
        Q["link_waiting"], push_id=push.id, address_id=address_id, notification_ids=list(notification_ids)
    )


async def drop_push(tx: Tx, push_id: UUID, *, error: str, now: datetime) -> None:
    """End a planned message that has nothing left to tell."""
    await tx.execute(Q["drop_push"], id=push_id, error=error, now=now)


async def begin_push(tx: Tx, push_id: UUID, *, now: datetime) -> int | None:
    """Mark a planned message as being sent; returns which attempt this is, or nothing if it is not ours."""
    return await tx.value(Q["begin_push"], id=push_id, now=now)


async def end_push(tx: Tx, push_id: UUID, *, state: PushState, error: str, ended_at: datetime | None) -> bool:
    return await tx.execute(Q["end_push"], id=push_id, state=state, error=error, ended_at=ended_at) == 1


async def release_waiting(tx: Tx, push_id: UUID) -> None:
    await tx.execute(Q["release_waiting"], push_id=push_id)


async def has_waiting(tx: Tx, address_id: UUID) -> bool:
    return await tx.value(Q["has_waiting"], address_id=address_id)


async def note_sent(tx: Tx, address_id: UUID, *, now: datetime) -> None:
    await tx.execute(Q["note_sent"], id=address_id, now=now)


async def note_failed(tx: Tx, address_id: UUID, *, breaker: Breaker, error: str, now: datetime) -> None:
    await tx.execute(Q["note_failed"], id=address_id, error=error, now=now, **vars(breaker))
