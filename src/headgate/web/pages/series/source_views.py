"""Listings as pages show them: how often they are looked at and why, and whether they are well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.domain.words.listing_words import Health, frequency_sentence
from headgate.storage.database import Tx
from headgate.storage.listings.listing_overview import (
    ListingOverview,
    TierChange,
    get_listing_states,
    list_last_tier_changes,
)
from headgate.storage.listings.series import SeriesSource
from headgate.web.parts import Site

CHANGES = 10


@dataclass(frozen=True)
class ListingView:
    """How a listing stands, in words."""

    state: ListingOverview
    health: Health
    often: str
    """How often it is looked at, and why."""
    waits: bool
    """A look is wanted now and has not ended yet."""


@dataclass(frozen=True)
class SourceView:
    """A source of a series, and how its listing stands."""

    source: SeriesSource
    listing: ListingView
    changes: Sequence[TierChange]


async def view_listings(site: Site, tx: Tx, channel_ids: Sequence[UUID]) -> dict[UUID, ListingView]:
    """Return how listings stand; what is no listing is left out."""
    if not channel_ids:
        return {}
    rules = await site.parts.rules.get_many(tx, channel_ids)
    states = await get_listing_states(tx, channel_ids)
    now = site.parts.clock.now()
    return {
        state.channel_id: ListingView(
            state,
            state.health(now=now),
            frequency_sentence(
                state.tier,
                state.tier_reason,
                knobs=rules[state.channel_id].schedule,
                pinned=state.tier_pinned,
                swept=state.swept,
            ),
            waits=state.enabled and state.due_at is not None and state.due_at <= now,
        )
        for state in states
    }


async def view_sources(site: Site, tx: Tx, sources: Sequence[SeriesSource]) -> list[SourceView]:
    """Return the sources of a series in their order."""
    channel_ids = [source.channel_id for source in sources]
    views = await view_listings(site, tx, channel_ids)
    changes = await list_last_tier_changes(tx, channel_ids, limit=CHANGES)
    return [
        SourceView(source, views[source.channel_id], changes[source.channel_id])
        for source in sources
        if source.channel_id in views
    ]
