"""Listings and their hosts as people see them: how they stand, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.schedule import Tier
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries("listing_overview")

_FIRST = UUID(int=0)


@dataclass(frozen=True)
class ListingState:
    """How a listing stands."""

    channel_id: UUID
    platform: str
    key: str
    title: str
    host: str
    tier: Tier
    tier_pinned: bool
    tier_reason: str
    due_at: datetime | None
    reason: str
    checked_at: datetime | None
    succeeded_at: datetime | None
    changed_at: datetime | None
    polls: int
    warning: str
    gone_at: datetime | None
    rest_until: datetime | None
    enabled: bool
    failures: int
    open_until: datetime | None
    error_class: str
    error_message: str
    host_failures: int
    host_open_until: datetime | None
    host_error: str
    swept: bool
    swept_at: datetime | None
    reader: str


@dataclass(frozen=True)
class TierChange:
    """A listing's tier changed, and why."""

    at: datetime
    from_tier: Tier
    to_tier: Tier
    reason: str


@dataclass(frozen=True)
class HostState:
    """How a host stands."""

    platform: str
    name: str
    failures: int
    opened: int
    open_until: datetime | None
    error_class: str
    error_message: str
    failed_at: datetime | None
    swept: bool
    due_at: datetime | None
    swept_at: datetime | None
    calls: int
    listings: int


@dataclass(frozen=True)
class ListingPlace:
    """A place in the order of listings."""

    title: str
    channel_id: UUID


async def list_listings(
    tx: Tx, *, platform: str | None = None, after: ListingState | ListingPlace | None = None, limit: int
) -> list[ListingState]:
    """Return a page of listings by title, of all platforms or of one."""
    return await tx.all(
        ListingState,
        Q["listing_states"],
        channel_ids=None,
        platform=platform,
        after_title="" if after is None else after.title,
        after_id=_FIRST if after is None else after.channel_id,
        limit=limit,
    )


async def get_listing_states(tx: Tx, channel_ids: Sequence[UUID]) -> list[ListingState]:
    """Return how these listings stand, by title."""
    return await tx.all(
        ListingState,
        Q["listing_states"],
        channel_ids=list(channel_ids),
        platform=None,
        after_title="",
        after_id=_FIRST,
        limit=len(channel_ids),
    )


async def list_tier_changes(tx: Tx, channel_id: UUID, *, limit: int = 20) -> list[TierChange]:
    return await tx.all(TierChange, Q["list_tier_changes"], channel_id=channel_id, limit=limit)


async def list_hosts(tx: Tx) -> list[HostState]:
    return await tx.all(HostState, Q["list_hosts"])
