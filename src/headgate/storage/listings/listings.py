"""Listings: when to look at them, and what their answers say of themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from headgate.domain.breaker import Breaker
from headgate.domain.streams.schedule import Tier
from headgate.storage.database import Statement, Tx
from headgate.storage.queries import load_queries
from headgate.storage.transactions import columns_of

Q = load_queries(__name__)


@dataclass(frozen=True)
class Added:
    """A listing that is there now, and whether it was not before."""

    channel_id: UUID
    is_new: bool


@dataclass(frozen=True)
class DueListing:
    """A listing that it is time to look at."""

    key: str
    tier: Tier
    asked: bool


@dataclass(frozen=True)
class ListingRow:
    """A listing with all that a look at it needs to know."""

    channel_id: UUID
    platform: str
    key: str
    title: str
    host: str
    cursor: dict[str, str]
    due_at: datetime | None
    wake_seq: int
    reason: str
    tier: Tier
    tier_pinned: bool
    polls: int
    tier_reason: str
    arrivals: list[datetime]
    rest_until: datetime | None
    asked: bool
    gone: bool
    succeeded_at: datetime | None
    warning: str
    unchanged_at: datetime | None
    """When the last answer was that nothing has changed; nothing if the last one was whole."""
    blind: bool
    """Its server was seen to say so although something had."""
    host_failures: int
    host_opened: int
    host_open_until: datetime | None
    swept: bool
    failures: int
    opened: int
    open_until: datetime | None
    has_misses: bool
    account_id: UUID | None
    account_name: str
    established: bool
    sign_in: int
    notified_before: int
    """The number of the last thing that any source had told by then."""

    @property
    def breaker(self) -> Breaker:
        return Breaker(self.failures, self.opened, self.open_until)

    @property
    def host_breaker(self) -> Breaker:
        return Breaker(self.host_failures, self.host_opened, self.host_open_until)


@dataclass(frozen=True)
class Source:
    """A series that a listing brings, and by which of its entries."""

    channel_id: UUID
    series_id: UUID
    pattern: str
    language: str
    series_title: str
    numbers_reset: bool


@dataclass(frozen=True)
class ListingUpdate:
    """What an answer changes about its listing."""

    cursor: Mapping[str, str]
    arrivals: Sequence[datetime]
    rest_until: datetime | None
    tier: Tier
    tier_reason: str
    warning: str
    unchanged: bool
    changed: bool
    blind: bool
    title: str = ""
    """What it calls itself, if it says so."""


class PlannedAnswer(NamedTuple):
    """An answer that is written down, and when to look next."""

    listing: ListingRow
    update: ListingUpdate
    due_at: datetime
    reason: str
    now: datetime

    def row(self) -> dict[str, Any]:
        listing, update = self.listing, self.update
        return {
            "channel_id": listing.channel_id,
            "seen": listing.wake_seq,
            "due_at": self.due_at,
            "reason": self.reason,
            "cursor": json.dumps(dict(update.cursor)),
            "arrivals": f"{{{','.join(map(str, update.arrivals))}}}",
            "rest_until": update.rest_until,
            "tier": update.tier,
            "tier_reason": update.tier_reason,
            "warning": update.warning,
            "unchanged": update.unchanged,
            "changed": update.changed,
            "blind": update.blind,
            "title": update.title,
            "from_tier": listing.tier,
            "now": self.now,
        }


class _Planned(NamedTuple):
    channel_id: UUID
    due: bool | None


async def insert_listing(
    tx: Tx,
    channel_id: UUID,
    *,
    platform: str,
    key: str,
    title: str,
    host: str,
    reader_id: UUID,
    now: datetime,
) -> Added | None:
    """Begin to follow a listing; None if a channel of another kind has its key."""
    return await tx.one(
        Added,
        Q["insert_listing"],
        id=channel_id,
        platform=platform,
        key=key,
        title=title,
        host=host,
        reader_id=reader_id,
        now=now,
    )


async def list_due_listings(tx: Tx, *, now: datetime, limit: int) -> list[DueListing]:
    """Return due listings that have no job; those of hosts that are left alone are put off."""
    return await tx.all(DueListing, Q["list_due_listings"], now=now, limit=limit)


async def list_listings(tx: Tx, channel_ids: Sequence[UUID]) -> dict[UUID, ListingRow]:
    """Return those of the channels that are listings."""
    found = await tx.all(ListingRow, Q["list_listings"], channel_ids=list(channel_ids))
    return {listing.channel_id: listing for listing in found}


async def list_sources(tx: Tx, channel_ids: Sequence[UUID]) -> dict[UUID, list[Source]]:
    """Return the series of listings, the most particular pattern of each listing first."""
    found: dict[UUID, list[Source]] = {channel_id: [] for channel_id in channel_ids}
    for source in await tx.all(Source, Q["list_sources"], channel_ids=list(channel_ids)):
        found[source.channel_id].append(source)
    return found


async def plan_listing(
    tx: Tx,
    listing: ListingRow,
    *,
    due_at: datetime | None,
    reason: str,
    now: datetime,
    checked: bool = False,
) -> bool:
    """Write down when to look next, and why; true if somebody wanted it meanwhile, so that it is due."""
    return bool(
        await tx.value(
            Q["plan_listing"],
            channel_id=listing.channel_id,
            seen=listing.wake_seq,
            due_at=due_at,
            reason=reason,
            checked_at=now if checked else None,
            now=now,
        )
    )


async def plan_after_answers(tx: Tx, answers: Sequence[PlannedAnswer]) -> set[UUID]:
    """Write down what answers say of their listings, and when to look next; returns those due at once."""
    rows = [answer.row() for answer in answers]
    planned = await tx.all(_Planned, Q["plan_after_answers"], **columns_of(rows))
    return {channel_id for channel_id, due in planned if due}


def unchanged(
    listing: ListingRow, update: ListingUpdate, *, due_at: datetime, reason: str, now: datetime
) -> Statement:
    """Return what writes down an answer without news, to be sent together with others."""
    return Statement(
        Q["note_unchanged"],
        {
            "channel_id": listing.channel_id,
            "seen": listing.wake_seq,
            "due_at": due_at,
            "reason": reason,
            "rest_until": update.rest_until,
            "tier_reason": update.tier_reason,
            "now": now,
        },
    )


async def put_off_listing(
    tx: Tx, listing: ListingRow, *, due_at: datetime, apart: timedelta, reason: str, now: datetime
) -> None:
    """Let a listing wait for its host, apart from those that wait for it already."""
    await tx.execute(
        Q["put_off_listing"],
        channel_id=listing.channel_id,
        seen=listing.wake_seq,
        due_at=due_at,
        apart=apart,
        reason=reason,
        now=now,
    )


async def end_listing(tx: Tx, channel_id: UUID, *, now: datetime) -> None:
    await tx.execute(Q["end_listing"], channel_id=channel_id, now=now)


async def move_listing(tx: Tx, channel_id: UUID, *, key: str, host: str) -> bool:
    """Follow a listing to its new address; false if that one is followed already. The host must be there."""
    if not await tx.execute(Q["move_listing"], channel_id=channel_id, key=key):
        return False
    await tx.execute(Q["set_listing_host"], channel_id=channel_id, host=host)
    return True


async def title_listing(tx: Tx, channel_id: UUID, *, title: str) -> None:
    """Give a channel that is still called by its address the name that it gives itself."""
    await tx.execute(Q["title_listing"], channel_id=channel_id, title=title)


async def note_reset(tx: Tx, channel_id: UUID, *, numbers_reset: bool) -> bool:
    """Note whether numbers begin anew with each volume; true if that is news."""
    return bool(await tx.execute(Q["note_reset"], channel_id=channel_id, numbers_reset=numbers_reset))


async def lock_listings(tx: Tx, channel_ids: Sequence[UUID]) -> None:
    """Lock those of the channels that are listings, in the order of writing sightings."""
    if channel_ids:
        await tx.column(Q["lock_listings"], channel_ids=list(channel_ids))


async def ask_listing(tx: Tx, channel_id: UUID, *, now: datetime) -> bool:
    """Make a listing due now at a person's request; false if there is none."""
    return bool(await tx.execute(Q["ask_listing"], channel_id=channel_id, now=now))


async def set_listing_due(tx: Tx, channel_id: UUID, *, due_at: datetime | None, now: datetime) -> None:
    """Park a listing (no due time), or make it due."""
    await tx.execute(Q["set_listing_due"], channel_id=channel_id, due_at=due_at, now=now)


async def pin_tier(tx: Tx, channel_id: UUID, *, tier: Tier | None, now: datetime) -> bool:
    """Fix a listing's tier, or let its rhythm decide again; false if there is none."""
    return bool(await tx.execute(Q["pin_tier"], channel_id=channel_id, tier=tier, now=now))


async def hold_listings(tx: Tx, channel_ids: Sequence[UUID], *, now: datetime) -> None:
    """Take those of the channels that are listings out of the schedule."""
    await tx.execute(Q["hold_listings"], channel_ids=list(channel_ids), now=now)


async def wake_listings(tx: Tx, channel_ids: Sequence[UUID], *, now: datetime) -> int:
    """Make those of the channels that are listings due now, unless something above them is off."""
    return await tx.execute(Q["wake_listings"], channel_ids=list(channel_ids), now=now)
