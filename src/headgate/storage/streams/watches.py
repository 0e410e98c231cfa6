"""Watches: which accounts can read a channel, how well that went, and who takes over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.breaker import Breaker
from headgate.storage.channels.channels import AccountState
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Watcher:
    """An account as those who call its platform need it."""

    id: UUID
    platform: str
    name: str
    state: AccountState
    established: bool
    sign_in: int
    listening: bool


@dataclass(frozen=True)
class Reader:
    """A channel's name on its platform, and the account that reads it."""

    platform: str
    stream_key: str
    enabled: bool
    account_id: UUID | None
    account_name: str
    established: bool
    sign_in: int


async def get_watcher(tx: Tx, account_id: UUID) -> Watcher | None:
    return await tx.one(Watcher, Q["get_watcher"], account_id=account_id)


async def get_breaker(tx: Tx, *, channel_id: UUID, account_id: UUID) -> Breaker:
    """Return an account's breaker at a channel; a closed one if it cannot read the channel any more."""
    found = await tx.one(Breaker, Q["get_breaker"], channel_id=channel_id, account_id=account_id)
    return found or Breaker()


async def fail_watch(
    tx: Tx,
    *,
    channel_id: UUID,
    account_id: UUID,
    breaker: Breaker,
    error_class: str,
    error_message: str,
    now: datetime,
) -> None:
    """Note that an account could not read a channel."""
    await tx.execute(
        Q["fail_watch"],
        channel_id=channel_id,
        account_id=account_id,
        failures=breaker.failures,
        opened=breaker.opened,
        open_until=breaker.open_until,
        error_class=error_class,
        error_message=error_message,
        now=now,
    )


async def close_breaker(tx: Tx, *, channel_id: UUID, account_id: UUID) -> None:
    await tx.execute(Q["close_breaker"], channel_id=channel_id, account_id=account_id)


async def pass_on(tx: Tx, account_id: UUID, *, channel_id: UUID | None = None, now: datetime) -> set[UUID]:
    """Hand an account's streams (or one of them) to those who stand by; returns which have a new reader."""
    return set(await tx.column(Q["pass_on"], account_id=account_id, channel_id=channel_id, now=now))


async def list_idle_readers(tx: Tx) -> list[UUID]:
    """Return the accounts that cannot be used and are still to read something."""
    return await tx.column(Q["list_idle_readers"])


async def get_reader(tx: Tx, channel_id: UUID, *, now: datetime) -> Reader | None:
    return await tx.one(Reader, Q["get_reader"], channel_id=channel_id, now=now)
