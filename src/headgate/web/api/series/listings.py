"""Sources and their hosts: their state, and how often they are checked."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.domain.breaker import Breaker, BreakerState, state_of
from headgate.domain.streams.schedule import Tier
from headgate.domain.words.listing_words import TROUBLES, Trouble, look_reason_text, tier_text
from headgate.intake.listings.host_pace import get_host, set_host_pace
from headgate.intake.listings.series import check_now, get_source_state, pin_source
from headgate.kernel.logs import mask_url
from headgate.storage.listings.listing_overview import (
    HostState,
    ListingPlace,
    ListingState,
    TierChange,
    TroubledListing,
    list_hosts,
    list_listings,
    list_tier_changes,
    list_troubled_listings,
)
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class HostAnswer(BaseModel):
    """What answers for listings, and is left alone as one when it fails."""

    platform: str
    name: str
    breaker: BreakerState
    open_until: datetime | None
    failures: int
    error: str
    failed_at: datetime | None
    swept: bool = Field(description="It tells what is new in all its listings at once.")
    due_at: datetime | None
    swept_at: datetime | None
    calls: int
    listings: int
    limited_until: datetime | None = Field(description="It asked us to wait until then.")
    gone: int = Field(description="Listings that it says are gone for good.")
    paced: int = Field(description="Listings that wait because it is not asked faster.")
    per_minute: float | None = Field(description="The most requests a minute; empty until it is first asked.")
    rate: float | None = Field(description="Requests a minute now; fewer after it asked to slow down.")
    pace_set: bool = Field(description="A person chose the pace.")

    @classmethod
    def of(cls, host: HostState, *, now: datetime) -> HostAnswer:
        breaker = state_of(Breaker(host.failures, host.opened, host.open_until), now=now)
        return cls.model_validate(vars(host) | {"breaker": breaker, "error": mask_url(host.error_message)})


class ProblemAnswer(BaseModel):
    """Something wrong with a feed or series, and what helps."""

    trouble: Trouble
    title: str
    host: str
    warning: str
    due_at: datetime | None
    total: int = Field(description="How many have the same trouble.")
    remedy: str

    @classmethod
    def of(cls, one: TroubledListing) -> ProblemAnswer:
        remedy = TROUBLES[one.trouble].remedy
        return cls.model_validate(vars(one) | {"title": mask_url(one.title), "remedy": remedy})


class ProblemsAnswer(BaseModel):
    problems: list[ProblemAnswer]


class HostPaceBody(BaseModel):
    """The most requests a minute, or the default pace."""

    per_minute: float | Literal["default"]


class HostsAnswer(BaseModel):
    hosts: list[HostAnswer]


class ListingAnswer(BaseModel):
    """How a listing stands; passwords in addresses are not shown."""

    channel_id: UUID
    platform: str
    key: str
    title: str
    host: str
    enabled: bool
    state: str = Field(description="In a word or two: whether it works, and if not, why.")
    tier: Tier
    tier_pinned: bool
    tier_reason: str
    tier_why: str = Field(description="Why it is checked so often, in words.")
    due_at: datetime | None
    reason: str
    why: str = Field(description="Why it is checked then, or not at all, in words.")
    checked_at: datetime | None
    succeeded_at: datetime | None
    changed_at: datetime | None
    polls: int
    warning: str
    gone_at: datetime | None
    rest_until: datetime | None
    breaker: BreakerState
    open_until: datetime | None
    failures: int
    error: str
    host_breaker: BreakerState
    host_open_until: datetime | None
    host_error: str
    host_per_minute: float | None = Field(description="Requests a minute that its host gets now.")
    swept: bool
    swept_at: datetime | None
    reader: str

    @classmethod
    def of(cls, listing: ListingState, *, now: datetime) -> ListingAnswer:
        watch = Breaker(listing.failures, 0, listing.open_until)
        host = Breaker(listing.host_failures, 0, listing.host_open_until)
        worded = {
            "key": mask_url(listing.key),
            "title": mask_url(listing.title),
            "tier_why": tier_text(listing.tier_reason, pinned=listing.tier_pinned),
            "why": look_reason_text(listing.reason),
            "state": listing.health(now=now).word,
            "breaker": state_of(watch, now=now),
            "host_breaker": state_of(host, now=now),
            "error": mask_url(listing.error_message),
            "host_error": mask_url(listing.host_error),
        }
        return cls.model_validate(vars(listing) | worded)


class ListingsAnswer(BaseModel):
    """A page of listings by title; `next` goes into `after` of the next call."""

    listings: list[ListingAnswer]
    next: str | None


class TierWish(BaseModel):
    """A tier that stays, or none: then the listing's own rhythm decides again."""

    tier: Literal["HOT", "WARM", "COLD"] | None


class TierChangeAnswer(BaseModel):
    at: datetime
    from_tier: Tier
    to_tier: Tier
    reason: str
    why: str

    @classmethod
    def of(cls, change: TierChange) -> TierChangeAnswer:
        return cls.model_validate(vars(change) | {"why": tier_text(change.reason)})


class TierChangesAnswer(BaseModel):
    changes: list[TierChangeAnswer]


@routes.get("/listings", door=scope("read"), tags=["listings"])
async def list_all(
    site: CurrentSite, after: str = "", limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> ListingsAnswer:
    """List feeds and series of sites by title, with how they stand and why."""
    place = read_title_cursor(after, ListingPlace)
    async with site.transaction() as tx:
        found = await list_listings(tx, after=place, limit=limit + 1)
    lines, following = cut_page(found, limit, lambda line: title_cursor(line.title, line.channel_id))
    now = site.parts.clock.now()
    return ListingsAnswer(listings=[ListingAnswer.of(line, now=now) for line in lines], next=following)


@routes.get("/listings/{channel_id}", door=scope("read"), tags=["listings"])
async def get(site: CurrentSite, channel_id: UUID) -> ListingAnswer:
    """Tell how a listing stands."""
    async with site.transaction() as tx:
        return ListingAnswer.of(await get_source_state(tx, channel_id), now=site.parts.clock.now())


@routes.post("/listings/{channel_id}/look", door=scope("write"), tags=["listings"])
async def look(site: CurrentSite, channel_id: UUID) -> ListingAnswer:
    """Check a source now; one that is gone gets another chance."""
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        await check_now(tx, [channel_id], now=now)
        return ListingAnswer.of(await get_source_state(tx, channel_id), now=now)


@routes.put("/listings/{channel_id}/tier", door=scope("write"), tags=["listings"])
async def set_tier(site: CurrentSite, channel_id: UUID, body: TierWish) -> ListingAnswer:
    """Set how often a source is checked, or let its rhythm decide again."""
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        await pin_source(tx, channel_id, body.tier, now=now)
        return ListingAnswer.of(await get_source_state(tx, channel_id), now=now)


@routes.get("/listings/{channel_id}/tier-changes", door=scope("read"), tags=["listings"])
async def list_changes(
    site: CurrentSite, channel_id: UUID, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> TierChangesAnswer:
    """List how often and why a listing's tier changed, the last first."""
    async with site.transaction() as tx:
        await get_source_state(tx, channel_id)
        found = await list_tier_changes(tx, channel_id, limit=limit)
    return TierChangesAnswer(changes=[TierChangeAnswer.of(change) for change in found])


@routes.get("/listing-problems", door=scope("admin"), tags=["listings"])
async def list_problems(site: CurrentSite) -> ProblemsAnswer:
    """List what is wrong with feeds and series, with what helps: some of each by name, and how many."""
    async with site.transaction() as tx:
        found = await list_troubled_listings(tx)
    return ProblemsAnswer(problems=[ProblemAnswer.of(one) for one in found])


@routes.get("/hosts", door=scope("read"), tags=["listings"])
async def list_all_hosts(site: CurrentSite) -> HostsAnswer:
    """List the hosts of listings: which answer, and which are left alone."""
    async with site.transaction() as tx:
        found = await list_hosts(tx)
    now = site.parts.clock.now()
    return HostsAnswer(hosts=[HostAnswer.of(host, now=now) for host in found])


@routes.post("/hosts/{platform}/{name}/pace", door=scope("admin"), tags=["listings"])
async def set_pace(site: CurrentSite, platform: str, name: str, body: HostPaceBody) -> HostAnswer:
    """Set how many requests a minute a host gets; checks that wait for it are planned anew."""
    parts = site.parts
    async with site.transaction() as tx:
        host = await get_host(tx, f"{platform}/{name}")
        per_minute = None if body.per_minute == "default" else body.per_minute
        host = await set_host_pace(tx, parts.links, host, per_minute=per_minute, clock=parts.clock)
        return HostAnswer.of(host, now=parts.clock.now())
