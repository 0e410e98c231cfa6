"""Listings and their hosts as people see them: how they stand, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.breaker import Breaker
from headgate.domain.streams.schedule import Tier
from headgate.domain.words.listing_words import (
    TROUBLES,
    Health,
    ListingHealth,
    Trouble,
    TroubleWords,
    health_of,
)
from headgate.kernel.logs import mask_url
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

RECENT = timedelta(days=7)
"""How long to mention that entries of a listing changed their keys."""
_FIRST = UUID(int=0)


@dataclass(frozen=True)
class ListingOverview:
    """A listing with its schedule and health."""

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
    host_per_minute: float | None
    """Requests a minute that its host gets now; empty until it is first asked."""
    swept: bool
    swept_at: datetime | None
    reader: str
    key_changes: int
    """In so many answers known entries came under other keys."""
    keys_changed_at: datetime | None
    moved_onto: str
    """The title of another listing whose address it moved to, though that one brings another series."""
    former_keys: list[str]
    """Addresses under which it was followed before."""

    def changes_keys(self, *, now: datetime) -> bool:
        """Tell whether its entries keep coming under other keys; one change of all of them is none."""
        recent = self.keys_changed_at is not None and now - self.keys_changed_at < RECENT
        return recent and self.key_changes > 1

    def health(self, *, now: datetime) -> Health:
        """Say in words whether it works."""
        facts = ListingHealth(
            enabled=self.enabled,
            gone=self.gone_at is not None,
            looked=self.succeeded_at is not None or self.swept_at is not None,
            watch=Breaker(self.failures, 0, self.open_until),
            host=Breaker(self.host_failures, 0, self.host_open_until),
            limited_until=self.due_at if self.reason == "limited" else None,
            has_reader=bool(self.reader),
            error=mask_url(self.error_message),
            host_error=mask_url(self.host_error),
            warning=self.warning,
            moved_onto=self.moved_onto,
            changes_keys=self.changes_keys(now=now),
        )
        return health_of(facts, now=now)


@dataclass(frozen=True)
class OddListing:
    """A listing that works, but of which a person should know something."""

    title: str
    moved_onto: str
    """As of a listing's state; where it is empty, the keys of its entries keep changing."""


@dataclass(frozen=True)
class TierChange:
    """A listing's tier changed, and why."""

    at: datetime
    from_tier: Tier
    to_tier: Tier
    reason: str


@dataclass(frozen=True)
class _ChangeOf(TierChange):
    channel_id: UUID


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
    limited_until: datetime | None
    """It asked us to wait; the last of its listings is polled again then."""
    gone: int
    """Listings that it says are gone for good."""
    paced: int
    """Listings that wait because the host is not asked faster."""
    per_minute: float | None
    """The most requests a minute for its listings; empty until it is first asked, or somebody sets it."""
    rate: float | None
    """Requests a minute now: fewer than the most after the host asked to slow down."""
    pace_set: bool
    """A person chose the pace."""

    @property
    def troubled(self) -> bool:
        return bool(self.failures or self.limited_until or self.gone)


@dataclass(frozen=True)
class TroubledListing:
    """A feed or series that a person should hear of."""

    title: str
    trouble: Trouble
    host: str
    warning: str
    due_at: datetime | None
    total: int
    """How many have the same trouble."""


@dataclass(frozen=True)
class ListingPlace:
    """A place in the order of listings."""

    title: str
    channel_id: UUID


async def list_listings(
    tx: Tx, *, platform: str | None = None, after: ListingOverview | ListingPlace | None = None, limit: int
) -> list[ListingOverview]:
    """Return a page of listings by title, of all platforms or of one."""
    return await tx.all(
        ListingOverview,
        Q["listing_states"],
        channel_ids=None,
        platform=platform,
        after_title="" if after is None else after.title,
        after_id=_FIRST if after is None else after.channel_id,
        limit=limit,
    )


async def get_listing_states(tx: Tx, channel_ids: Sequence[UUID]) -> list[ListingOverview]:
    """Return how these listings stand, by title."""
    return await tx.all(
        ListingOverview,
        Q["listing_states"],
        channel_ids=list(channel_ids),
        platform=None,
        after_title="",
        after_id=_FIRST,
        limit=len(channel_ids),
    )


async def list_tier_changes(tx: Tx, channel_id: UUID, *, limit: int = 20) -> list[TierChange]:
    return await tx.all(TierChange, Q["list_tier_changes"], channel_id=channel_id, limit=limit)


async def list_last_tier_changes(
    tx: Tx, channel_ids: Sequence[UUID], *, limit: int
) -> dict[UUID, list[TierChange]]:
    """Return the last changes of each listing, newest first."""
    found: dict[UUID, list[TierChange]] = {channel_id: [] for channel_id in channel_ids}
    rows = await tx.all(_ChangeOf, Q["list_last_tier_changes"], channel_ids=list(channel_ids), limit=limit)
    for row in rows:
        found[row.channel_id].append(row)
    return found


async def list_hosts(tx: Tx, *, name: str | None = None) -> list[HostState]:
    """Return how hosts stand: all of them, or those of a name, which several platforms may have."""
    return await tx.all(HostState, Q["list_hosts"], name=name)


async def list_odd_listings(tx: Tx, *, now: datetime) -> list[OddListing]:
    """Return listings whose entries keep changing their keys, or that moved onto another one."""
    return await tx.all(OddListing, Q["list_odd_listings"], since=now - RECENT)


async def list_troubled_listings(tx: Tx, *, named: int = 5) -> list[TroubledListing]:
    """Return feeds and series that are gone, asked to wait for or read in part, some of each."""
    return await tx.all(TroubledListing, Q["list_troubled_listings"], named=named)


def describe_troubles(troubled: Sequence[TroubledListing]) -> list[TroubleWords]:
    """Say what is wrong with feeds and series, each trouble with what helps."""
    told: list[TroubleWords] = []
    for trouble, words in TROUBLES.items():
        found = [one for one in troubled if one.trouble == trouble]
        if found:
            more = found[0].total - len(found)
            feeds = ", ".join(mask_url(one.title) for one in found) + (f", and {more} more" if more else "")
            told.append(replace(words, finding=words.finding.format(feeds=feeds)))
    return told
