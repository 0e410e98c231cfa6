"""Where users' notifications go out to. The addresses themselves are among the secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from headgate.domain.breaker import Breaker
from headgate.storage.access.users import Role
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

PushState = Literal["planned", "sending", "sent", "failed", "uncertain"]

URL = "url"
"""The name of the secret that holds the address."""


def secret_owner(address_id: UUID) -> str:
    """Return whose secret the address is."""
    return f"push:{address_id}"


@dataclass(frozen=True)
class PushAddress:
    """An address as its owner sees it; `shown` tells the service, never the address."""

    id: UUID
    user_id: UUID
    name: str
    shown: str
    enabled: bool
    due_at: datetime | None
    failures: int
    """Pushes that failed since the last one that went out."""
    opened: int
    open_until: datetime | None
    error: str
    failed_at: datetime | None
    sent_at: datetime | None
    created_at: datetime
    waiting: int
    """Notifications that are yet to go out."""

    @property
    def breaker(self) -> Breaker:
        return Breaker(self.failures, self.opened, self.open_until)


@dataclass(frozen=True)
class Push:
    """A push to an address, and its result."""

    id: UUID
    state: PushState
    title: str
    body: str
    notifications: int
    attempts: int
    made_at: datetime
    begun_at: datetime | None
    ended_at: datetime | None
    error: str


@dataclass(frozen=True)
class PushCursor:
    """A place in the order of an address's pushes."""

    made_at: datetime
    id: UUID


NEWEST_PUSH = PushCursor(datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))


async def insert_address(
    tx: Tx, address_id: UUID, *, user_id: UUID, name: str, shown: str, added_as: Role, now: datetime
) -> bool:
    """Add an address; false if the user has one of this name already."""
    made = await tx.execute(
        Q["insert_address"],
        id=address_id,
        user_id=user_id,
        name=name,
        shown=shown,
        added_as=added_as,
        now=now,
    )
    return made == 1


async def rename_address(tx: Tx, address_id: UUID, *, user_id: UUID, name: str) -> bool:
    """Rename; raises `Refused` if another one has the name."""
    async with tx.attempt():
        return await tx.execute(Q["rename_address"], id=address_id, user_id=user_id, name=name) == 1


async def set_enabled(
    tx: Tx, address_id: UUID, *, user_id: UUID, enabled: bool, error: str, now: datetime
) -> bool:
    """Switch an address on or off, and end what was to go out with this error; false if it was so before."""
    if not await tx.execute(Q["set_enabled"], id=address_id, user_id=user_id, enabled=enabled):
        return False
    await tx.execute(Q["drop_waiting"], id=address_id)
    await tx.execute(Q["drop_planned"], id=address_id, error=error, now=now)
    return True


async def delete_address(tx: Tx, address_id: UUID, *, user_id: UUID) -> bool:
    return await tx.execute(Q["delete_address"], id=address_id, user_id=user_id) == 1


async def get_address(tx: Tx, address_id: UUID, *, user_id: UUID) -> PushAddress | None:
    return await tx.one(PushAddress, Q["get_address"], id=address_id, user_id=user_id)


async def list_addresses(tx: Tx, *, user_id: UUID) -> list[PushAddress]:
    return await tx.all(PushAddress, Q["list_addresses"], user_id=user_id)


async def count_addresses(tx: Tx, *, user_id: UUID) -> int:
    return await tx.value(Q["count_addresses"], user_id=user_id)


async def list_pushes(
    tx: Tx, address_id: UUID, *, user_id: UUID, below: PushCursor, limit: int
) -> list[Push]:
    return await tx.all(
        Push, Q["list_pushes"], address_id=address_id, user_id=user_id, limit=limit, **vars(below)
    )


async def repeat_push(tx: Tx, push_id: UUID, *, user_id: UUID, now: datetime) -> UUID | None:
    """Plan a failed or uncertain push again; returns its address, or nothing if it cannot be repeated."""
    address_id: UUID | None = await tx.value(Q["repeat_push"], id=push_id, user_id=user_id)
    if address_id is not None:
        await tx.execute(Q["make_due"], id=address_id, now=now)
    return address_id
