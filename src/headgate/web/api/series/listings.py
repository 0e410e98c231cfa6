"""Sources and their hosts: their state, and how often they are checked."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.domain.breaker import Breaker, BreakerState, state_of
from headgate.domain.words.fields import plain_fields
from headgate.domain.words.frequency import Frequency, FrequencyChoice
from headgate.domain.words.listing_words import TROUBLES, Trouble, check_reason_text, frequency_reason_text
from headgate.intake.listings.host_pace import get_host, set_host_pace
from headgate.intake.listings.series import check_now, get_source_state, set_frequency
from headgate.kernel.logs import mask_url
from headgate.storage.listings.listing_overview import (
    HostState,
    ListingOverview,
    ListingPlace,
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
    """A site of feeds and series; after repeated failures its sources rest together."""

    platform: str
    name: str
    breaker: BreakerState
    open_until: datetime | None
    failures: int
    error: str
    failed_at: datetime | None
    checked_with_site: bool = Field(description="One check of the site covers all its sources.")
    due_at: datetime | None
    site_checked_at: datetime | None
    calls: int
    listings: int
    limited_until: datetime | None = Field(description="The site asked us to wait until then.")
    gone: int = Field(description="Sources that it reports as gone for good.")
    paced: int = Field(description="Sources that wait for the pace of this site.")
    per_minute: float | None = Field(description="Maximum requests a minute; empty before the first request.")
    rate: float | None = Field(
        description="Current requests a minute; lower after the site asked us to slow down."
    )
    pace_set: bool = Field(description="A person chose the pace.")

    @classmethod
    def of(cls, host: HostState, *, now: datetime) -> HostAnswer:
        breaker = state_of(Breaker(host.failures, host.opened, host.open_until), now=now)
        return cls.model_validate(
            plain_fields(host) | {"breaker": breaker, "error": mask_url(host.error_message)}
        )


class ProblemAnswer(BaseModel):
    """A problem with a feed or series, and how to fix it."""

    trouble: Trouble
    title: str
    host: str
    warning: str
    due_at: datetime | None
    total: int = Field(description="How many sources have this problem.")
    remedy: str

    @classmethod
    def of(cls, one: TroubledListing) -> ProblemAnswer:
        remedy = TROUBLES[one.trouble].remedy
        return cls.model_validate(vars(one) | {"title": mask_url(one.title), "remedy": remedy})


class ProblemsAnswer(BaseModel):
    problems: list[ProblemAnswer]


class HostPaceBody(BaseModel):
    """Maximum requests a minute, or `default`."""

    per_minute: float | Literal["default"]


class HostsAnswer(BaseModel):
    hosts: list[HostAnswer]


class ListingAnswer(BaseModel):
    """The state of a source; passwords in addresses are hidden."""

    channel_id: UUID
    platform: str
    key: str
    title: str
    host: str
    enabled: bool
    state: str = Field(description="Whether it works, and if not, why, in a word or two.")
    frequency: Frequency = Field(description="How often it is checked now.")
    frequency_chosen: bool = Field(description="A person chose it; otherwise Headgate decides.")
    frequency_reason: str
    frequency_why: str = Field(description="Why it is checked this often, in words.")
    due_at: datetime | None
    reason: str
    why: str = Field(description="Why it is checked then, or not at all, in words.")
    checked_at: datetime | None
    succeeded_at: datetime | None
    changed_at: datetime | None
    checks: int
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
    host_per_minute: float | None = Field(description="Current requests a minute to its site.")
    checked_with_site: bool = Field(description="One check of its site covers it too.")
    site_checked_at: datetime | None
    reader: str

    @classmethod
    def of(cls, listing: ListingOverview, *, now: datetime) -> ListingAnswer:
        watch = Breaker(listing.failures, 0, listing.open_until)
        host = Breaker(listing.host_failures, 0, listing.host_open_until)
        worded = {
            "key": mask_url(listing.key),
            "title": mask_url(listing.title),
            "frequency_why": frequency_reason_text(listing.tier_reason, pinned=listing.tier_pinned),
            "why": check_reason_text(listing.reason),
            "state": listing.health(now=now).word,
            "breaker": state_of(watch, now=now),
            "host_breaker": state_of(host, now=now),
            "error": mask_url(listing.error_message),
            "host_error": mask_url(listing.host_error),
        }
        return cls.model_validate(plain_fields(listing) | worded)


class ListingsAnswer(BaseModel):
    """A page of sources by title; pass `next` as `after` to get the next page."""

    listings: list[ListingAnswer]
    next: str | None


class FrequencyBody(BaseModel):
    """How often to check; with `automatic` Headgate decides."""

    frequency: FrequencyChoice


class FrequencyChangeAnswer(BaseModel):
    at: datetime
    from_frequency: Frequency
    to_frequency: Frequency
    reason: str
    why: str

    @classmethod
    def of(cls, change: TierChange) -> FrequencyChangeAnswer:
        return cls.model_validate(plain_fields(change) | {"why": frequency_reason_text(change.reason)})


class FrequencyChangesAnswer(BaseModel):
    changes: list[FrequencyChangeAnswer]


@routes.get("/listings", door=scope("read"), tags=["listings"])
async def list_all(
    site: CurrentSite, after: str = "", limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> ListingsAnswer:
    """List feeds and the sources of series by title, with their state."""
    place = read_title_cursor(after, ListingPlace)
    async with site.transaction() as tx:
        found = await list_listings(tx, after=place, limit=limit + 1)
    lines, following = cut_page(found, limit, lambda line: title_cursor(line.title, line.channel_id))
    now = site.parts.clock.now()
    return ListingsAnswer(listings=[ListingAnswer.of(line, now=now) for line in lines], next=following)


@routes.get("/listings/{channel_id}", door=scope("read"), tags=["listings"])
async def get(site: CurrentSite, channel_id: UUID) -> ListingAnswer:
    """Show the state of a source."""
    async with site.transaction() as tx:
        return ListingAnswer.of(await get_source_state(tx, channel_id), now=site.parts.clock.now())


@routes.post("/listings/{channel_id}/check", door=scope("write"), tags=["listings"])
async def check(site: CurrentSite, channel_id: UUID) -> ListingAnswer:
    """Check a source now; one that is gone gets another chance."""
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        await check_now(tx, [channel_id], now=now)
        return ListingAnswer.of(await get_source_state(tx, channel_id), now=now)


@routes.put("/listings/{channel_id}/frequency", door=scope("write"), tags=["listings"])
async def put_frequency(site: CurrentSite, channel_id: UUID, body: FrequencyBody) -> ListingAnswer:
    """Set how often a source is checked, or let Headgate decide."""
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        await set_frequency(tx, channel_id, body.frequency, now=now)
        return ListingAnswer.of(await get_source_state(tx, channel_id), now=now)


@routes.get("/listings/{channel_id}/frequency-changes", door=scope("read"), tags=["listings"])
async def list_changes(
    site: CurrentSite, channel_id: UUID, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> FrequencyChangesAnswer:
    """List when and why the frequency of a source changed, newest first."""
    async with site.transaction() as tx:
        await get_source_state(tx, channel_id)
        found = await list_tier_changes(tx, channel_id, limit=limit)
    return FrequencyChangesAnswer(changes=[FrequencyChangeAnswer.of(change) for change in found])


@routes.get("/listing-problems", door=scope("admin"), tags=["listings"])
async def list_problems(site: CurrentSite) -> ProblemsAnswer:
    """List problems with feeds and series and how to fix them: a few of each by name, and how many."""
    async with site.transaction() as tx:
        found = await list_troubled_listings(tx)
    return ProblemsAnswer(problems=[ProblemAnswer.of(one) for one in found])


@routes.get("/hosts", door=scope("read"), tags=["listings"])
async def list_all_hosts(site: CurrentSite) -> HostsAnswer:
    """List the sites of feeds and series, and whether they answer."""
    async with site.transaction() as tx:
        found = await list_hosts(tx)
    now = site.parts.clock.now()
    return HostsAnswer(hosts=[HostAnswer.of(host, now=now) for host in found])


@routes.post("/hosts/{platform}/{name}/pace", door=scope("admin"), tags=["listings"])
async def set_pace(site: CurrentSite, platform: str, name: str, body: HostPaceBody) -> HostAnswer:
    """Set the maximum requests a minute for a site; waiting checks are rescheduled."""
    parts = site.parts
    async with site.transaction() as tx:
        host = await get_host(tx, f"{platform}/{name}")
        per_minute = None if body.per_minute == "default" else body.per_minute
        host = await set_host_pace(tx, parts.links, host, per_minute=per_minute, clock=parts.clock)
        return HostAnswer.of(host, now=parts.clock.now())
