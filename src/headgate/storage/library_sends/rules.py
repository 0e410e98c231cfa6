"""Rules that send things on, what they have asked for, and looking for what they sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.library_sends.overview import Verification
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

COUNT_CAP = 10_000
MAX_VERIFIED = 10
"""Of the first and of the last messages of a request."""


@dataclass(frozen=True)
class NewSendRule:
    """A rule as people write it."""

    name: str
    query: str
    target_id: UUID
    account_id: UUID | None = None
    user_id: UUID | None = None
    """Who adds it."""


@dataclass(frozen=True)
class StoredSendRule:
    """A rule, and what has become of what it asked for; counts end at 10,000."""

    id: UUID
    name: str
    query: str
    """The filters, as in the address of the library."""
    target_id: UUID
    target_title: str
    platform: str
    account_id: UUID | None
    account_name: str
    """Empty: any account that can write there."""
    enabled: bool
    enabled_at: datetime | None
    backfill: bool
    backfilling: bool
    """It is going through what is there."""
    created_at: datetime
    asked: int
    sent: int
    verified: int
    """Found in the target afterwards."""
    missing: int
    """Sent, but not found there."""

    @property
    def rule(self) -> NewSendRule:
        return NewSendRule(self.name, self.query, self.target_id, self.account_id)


@dataclass(frozen=True)
class SendSweep:
    """How far a rule has come with what is there."""

    sweep_after: UUID | None
    wake_seq: int


@dataclass(frozen=True)
class NewestItem:
    """A visible item."""

    id: UUID
    title: str
    caught_at: datetime


@dataclass(frozen=True)
class SentMessage:
    """A message of a request that is to be looked for."""

    account_id: UUID | None
    verify_tries: int
    target_key: str
    key: str
    message_key: str
    since: datetime


async def lock_rules(tx: Tx) -> None:
    await tx.value(Q["lock_rules"])


async def list_rules(tx: Tx, *, rule_id: UUID | None = None) -> list[StoredSendRule]:
    return await tx.all(StoredSendRule, Q["list_rules"], id=rule_id, cap=COUNT_CAP)


async def insert_rule(tx: Tx, rule_id: UUID, rule: NewSendRule, *, now: datetime) -> None:
    await tx.execute(Q["insert_rule"], id=rule_id, now=now, **vars(rule))


async def update_rule(tx: Tx, rule_id: UUID, rule: NewSendRule) -> None:
    wanted = {"target_id": rule.target_id, "account_id": rule.account_id}
    await tx.execute(Q["update_rule"], id=rule_id, name=rule.name, query=rule.query, **wanted)


async def switch_on(tx: Tx, rule_id: UUID, *, backfill: bool, now: datetime) -> None:
    await tx.execute(Q["switch_on"], id=rule_id, backfill=backfill, now=now)


async def switch_off(tx: Tx, rule_id: UUID) -> None:
    await tx.execute(Q["switch_off"], id=rule_id)


async def delete_rule(tx: Tx, rule_id: UUID) -> None:
    await tx.execute(Q["delete_rule"], id=rule_id)


async def list_due(tx: Tx, *, now: datetime, rested_since: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due"], now=now, rested_since=rested_since, limit=limit)


async def get_sweep(tx: Tx, rule_id: UUID) -> SendSweep | None:
    return await tx.one(SendSweep, Q["get_sweep"], id=rule_id)


async def count_open(tx: Tx, rule_id: UUID, *, cap: int) -> int:
    return await tx.value(Q["count_open"], id=rule_id, cap=cap)


async def advance_sweep(
    tx: Tx, rule_id: UUID, sweep: SendSweep, *, after: UUID | None, due_at: datetime
) -> None:
    await tx.execute(Q["advance_sweep"], id=rule_id, after=after, due_at=due_at, seen=sweep.wake_seq)


async def end_sweep(tx: Tx, rule_id: UUID, sweep: SendSweep) -> None:
    await tx.execute(Q["end_sweep"], id=rule_id, seen=sweep.wake_seq)


async def list_items(tx: Tx, *, after: UUID | None, limit: int) -> list[UUID]:
    """Return the next visible items, by id."""
    return await tx.column(Q["list_items"], after=after, limit=limit)


async def list_newest(tx: Tx, *, below: NewestItem | None, limit: int) -> list[NewestItem]:
    place = {"id": below.id, "caught_at": below.caught_at} if below else {"id": None, "caught_at": None}
    return await tx.all(NewestItem, Q["list_newest"], limit=limit, **place)


async def list_unsent(
    tx: Tx, item_ids: Sequence[UUID], *, target_id: UUID, rule_id: UUID | None, since: datetime | None
) -> list[UUID]:
    """Return those of the items that a rule may send to a target, one for each content."""
    wanted = {"target_id": target_id, "rule_id": rule_id, "since": since}
    return await tx.column(Q["list_unsent"], item_ids=list(item_ids), **wanted) if item_ids else []


async def list_to_verify(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_to_verify"], now=now, limit=limit)


async def set_verify_at(tx: Tx, request_id: UUID, *, verify_at: datetime) -> None:
    await tx.execute(Q["set_verify_at"], id=request_id, verify_at=verify_at)


async def list_sent_messages(tx: Tx, request_id: UUID) -> list[SentMessage]:
    return await tx.all(SentMessage, Q["list_sent_messages"], id=request_id, most=MAX_VERIFIED)


async def set_verification(
    tx: Tx, request_id: UUID, verification: Verification, *, verify_at: datetime | None
) -> None:
    values = {"verification": verification, "verify_at": verify_at}
    await tx.execute(Q["set_verification"], id=request_id, **values)
