"""Answers of listings: all parts as one, and what they say of a listing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from headgate.domain.listings.listings import Listed
from headgate.domain.listings.polling import ListingFacts
from headgate.domain.streams.rules import ChannelRules
from headgate.intake.listings.entries import News
from headgate.storage.listings.listings import ListingRow, Source

LAG = timedelta(hours=1)
"""How long a server may take to show what was published."""


def is_quiet(listing: ListingRow, listed: Listed, *, address: str) -> bool:
    """Tell whether nothing but times is to be written: then many polls end in one round trip."""
    stays = listed.cursor == listing.cursor and listed.moved_to in ("", address)
    return listed.unchanged and stays and not listing.host_failures and not listing.failures


def shows_blindness(listing: ListingRow, news: News) -> bool:
    """Tell whether the server said "unchanged" although something newer than all we know had come out."""
    if listing.unchanged_at is None or not listing.arrivals:
        return False
    released = (release for release in news.releases if release.channel_id == listing.channel_id)
    entries = [*released, *news.posts.get(listing.channel_id, ())]
    newest, until = max(listing.arrivals), listing.unchanged_at - LAG
    return any(entry.published_at and newest < entry.published_at < until for entry in entries)


def join_parts(parts: Sequence[Listed]) -> Listed:
    """Return all parts as one answer; it is whole if the last part says so and nothing was left out."""
    last = parts[-1]
    return replace(
        last,
        entries=tuple(entry for part in parts for entry in part.entries),
        bad=tuple(bad for part in parts for bad in part.bad),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
        title=next((part.title for part in parts if part.title), ""),
        numbers_reset=next((part.numbers_reset for part in parts if part.numbers_reset is not None), None),
        complete=last.complete and not last.more,
        more=False,
    )


def with_resets(sources: Sequence[Source], numbers_reset: bool | None) -> list[Source]:
    """Return the sources with what the answer says of their numbers."""
    if numbers_reset is None:
        return list(sources)
    return [source if source.pattern else replace(source, numbers_reset=numbers_reset) for source in sources]


def facts_of(listing: ListingRow, rules: ChannelRules) -> ListingFacts:
    """Return what the decision to poll a listing depends on."""
    return ListingFacts(
        enabled=rules.enabled,
        asked=listing.asked,
        gone=listing.gone,
        has_reader=listing.account_id is not None,
        polled=listing.succeeded_at is not None,
        host=listing.host_breaker,
        watch=listing.breaker,
        rest_until=listing.rest_until,
    )
