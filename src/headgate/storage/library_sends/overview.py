"""Requests as people see them, and the targets that they can choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.library.sending_on import Way
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


Verification = Literal["", "due", "found", "missing"]
ShownState = Literal["pending", "sending", "sent", "failed", "uncertain", "cancelled"]


@dataclass(frozen=True)
class ShownRequest:
    """A request as people see it."""

    id: UUID
    item_id: UUID
    item_title: str
    group_id: UUID | None
    target_id: UUID
    target_title: str
    platform: str
    account_id: UUID | None
    account_name: str
    user_name: str
    """The user who asked; empty for the command line and for removed users."""
    rule_name: str
    """The rule that asked; empty if a person did."""
    verification: Verification
    """Whether what a rule sent was found in the target afterwards."""
    state: ShownState
    is_open: bool
    """No other request for the same thing and target is made."""
    is_uncertain: bool
    """It is not known whether a message of it arrived."""
    reason: str
    """Why it waits, or why it was not sent."""
    way: Way | Literal[""]
    """By reference, as files or as a text; empty until that is decided."""
    messages: int
    """0 until it is decided how it is sent."""
    messages_sent: int
    run_id: UUID | None
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class RequestCursor:
    """A place in the order of requests."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True)
class KnownTarget:
    """A target, how many accounts can write there, and whether a certain one can."""

    id: UUID
    title: str
    platform: str
    accounts: int
    reached: bool


@dataclass(frozen=True)
class OwnTarget:
    """Where a user sends things to themselves."""

    target_id: UUID
    target_title: str
    platform: str
    account_id: UUID | None
    account_name: str
    """Empty: any account that can write there."""


@dataclass(frozen=True)
class _Member:
    item_id: UUID
    group_id: UUID


async def list_requests(
    tx: Tx,
    *,
    ids: Sequence[UUID] | None = None,
    item_id: UUID | None = None,
    group_id: UUID | None = None,
    states: Sequence[ShownState] | None = None,
    is_open: bool = False,
    below: RequestCursor | None = None,
    limit: int,
) -> list[ShownRequest]:
    """Return requests, newest first: of one item, of the members of a group, in some states, or all."""
    place = {"created_at": None, "id": None} if below is None else vars(below)
    return await tx.all(
        ShownRequest,
        Q["list_requests"],
        ids=None if ids is None else list(ids),
        item_id=item_id,
        group_id=group_id,
        states=None if states is None else list(states),
        is_open=is_open,
        limit=limit,
        **place,
    )


async def list_members(tx: Tx, group_ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """Return the visible items of groups that are there, by group."""
    members: dict[UUID, list[UUID]] = {}
    for row in await tx.all(_Member, Q["list_members"], group_ids=list(group_ids)):
        members.setdefault(row.group_id, []).append(row.item_id)
    return members


async def list_known_items(tx: Tx, item_ids: Sequence[UUID]) -> list[UUID]:
    return await tx.column(Q["list_known_items"], item_ids=list(item_ids))


async def get_target(tx: Tx, target_id: UUID, *, account_id: UUID | None) -> KnownTarget | None:
    return await tx.one(KnownTarget, Q["get_target"], target_id=target_id, account_id=account_id)


async def find_requests(tx: Tx, digits: str) -> list[UUID]:
    """Return requests whose id begins or ends so; the digits are those of an id and nothing else."""
    return await tx.column(Q["find_requests"], digits=digits)


async def get_own_target(tx: Tx, user_id: UUID) -> OwnTarget | None:
    return await tx.one(OwnTarget, Q["get_own_target"], user_id=user_id)


async def set_own_target(tx: Tx, user_id: UUID, *, target_id: UUID, account_id: UUID | None) -> None:
    await tx.execute(Q["set_own_target"], user_id=user_id, target_id=target_id, account_id=account_id)


async def clear_own_target(tx: Tx, user_id: UUID) -> bool:
    """Forget a user's own target; false if there is none."""
    return await tx.execute(Q["clear_own_target"], user_id=user_id) == 1
