"""What people ask for about series and the listings that bring them. Each request is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.domain.streams.schedule import Tier
from headgate.intake.channels.requests import remove_channel
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.listings import listings, series
from headgate.storage.listings.series import SeriesSource
from headgate.storage.notifications.follows import list_watched_channels

LONGEST_TITLE = 300


async def ask_looks(tx: Tx, channel_ids: Sequence[UUID], *, now: datetime) -> None:
    """Let listings be looked at now, whatever their schedule says."""
    for channel_id in channel_ids:
        if not await listings.ask_listing(tx, channel_id, now=now):
            raise _no_listing()


async def pin_listing(tx: Tx, channel_id: UUID, tier: Tier | None, *, now: datetime) -> None:
    """Fix how often a listing is looked at, or let its own rhythm decide again."""
    if not await listings.pin_tier(tx, channel_id, tier=tier, now=now):
        raise _no_listing()
    await publish(tx, Event("series"))


async def rename(tx: Tx, series_id: UUID, title: str) -> str:
    """Give a series another title; returns it as it is kept."""
    title = " ".join(title.split())
    if not title or len(title) > LONGEST_TITLE or not title.isprintable():
        raise UserError(
            f"A title has 1 to {LONGEST_TITLE} characters.", remedy="Give the series another title."
        )
    if not await series.rename_series(tx, series_id, title=title):
        raise _no_series()
    await publish(tx, Event("series"))
    return title


async def list_lone_sources(tx: Tx, series_id: UUID) -> list[SeriesSource]:
    """Return the sources that are there for this series alone.

    Those take all entries of their listing, bring no other series, and nobody follows them by themselves.
    """
    sources = await series.list_series_sources(tx, series_id)
    channel_ids = [source.channel_id for source in sources]
    brings = await listings.list_sources(tx, channel_ids)
    followed = await list_watched_channels(tx, channel_ids)
    return [
        source
        for source in sources
        if not source.pattern and len(brings[source.channel_id]) == 1 and source.channel_id not in followed
    ]


async def remove_series(tx: Tx, series_id: UUID, *, now: datetime) -> list[SeriesSource]:
    """Delete a series with its chapters, and the sources that are there for it alone; returns those."""
    lone = await list_lone_sources(tx, series_id)
    for source in lone:
        await remove_channel(tx, source.channel_id, now=now)
    if not await series.delete_series(tx, series_id):
        raise _no_series()
    await publish(tx, Event("series"))
    return lone


async def detach(tx: Tx, series_id: UUID, channel_id: UUID, *, now: datetime) -> bool:
    """Let a listing bring a series no more; true if it was there for it alone, and is gone with that."""
    is_lone = any(one.channel_id == channel_id for one in await list_lone_sources(tx, series_id))
    if is_lone:
        await remove_channel(tx, channel_id, now=now)
        await series.drop_empty_chapters(tx, series_id)
    else:
        await series.delete_source(tx, series_id=series_id, channel_id=channel_id, now=now)
    await publish(tx, Event("series"))
    return is_lone


def _no_listing() -> UserError:
    return UserError("There is no such source.", remedy="It may have been removed meanwhile.")


def _no_series() -> UserError:
    return UserError("There is no such series.", remedy="It may have been removed meanwhile.")
