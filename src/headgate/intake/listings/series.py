"""Actions on series and their sources: rename, check now, set how often, remove.

Adding a source is in `sources`. Each action works in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.listings.chapters import chapter_key, read_number
from headgate.domain.text import MAX_TITLE_LENGTH, typed_text
from headgate.domain.words.frequency import FrequencyChoice, chosen_tier
from headgate.intake.channels.requests import remove_channel
from headgate.storage.channels.requests import Holdings
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.listings import listings, series
from headgate.storage.listings.listing_overview import ListingOverview, get_listing_states
from headgate.storage.listings.series import NOBODY, Chapter, Series, SeriesSource
from headgate.storage.notifications.follows import list_watched_channels

LATEST = "latest"


async def get_series(tx: Tx, series_id: UUID, *, user_id: UUID = NOBODY) -> Series:
    """Return a series as a user sees it."""
    found = await series.get_series(tx, series_id, user_id=user_id)
    if found is None:
        raise _no_series()
    return found


async def get_source(tx: Tx, series_id: UUID, channel_id: UUID) -> SeriesSource:
    """Return one source of a series."""
    for source in await series.list_series_sources(tx, series_id):
        if source.channel_id == channel_id:
            return source
    raise NotFound("This series has no such source.")


async def get_chapter(tx: Tx, whole: Series, reference: str) -> Chapter:
    """Return a chapter by its id, by its number as people write it, or the `latest`."""
    text = typed_text(reference).lower()
    if text == LATEST:
        found = await series.list_chapters(tx, whole.id, limit=1)
    else:
        named = await series.find_chapter(tx, whole.id, text, key=text)
        found = [one for one in named if text in (str(one.id), one.key)] or await _numbered(tx, whole, text)
    if not found:
        raise NotFound(
            f"{whole.title} has no chapter {reference!r}.", command=f"headgate series show {whole.id}"
        )
    if len(found) > 1:
        raise UserError(
            f"Several chapters of {whole.title} have the number {reference}.",
            remedy=f"Name the volume, like 'vol. {found[0].volume or 1} ch. {found[0].number}', or the id.",
            field="chapter",
        )
    return found[0]


async def _numbered(tx: Tx, whole: Series, text: str) -> list[Chapter]:
    number, volume = read_number(text)
    number = number or text
    parsed = chapter_key(number, volume, entry_key="", source="", numbers_reset=whole.numbers_reset)
    found = await series.find_chapter(tx, whole.id, parsed.number or text, key=parsed.key)
    return [one for one in found if one.key == parsed.key] or found


async def rename_series(tx: Tx, series_id: UUID, title: str) -> str:
    """Give a series another title, which no source changes back; returns it as it is stored."""
    title = check_title(title)
    if not await series.rename_series(tx, series_id, title=title):
        raise _no_series()
    await publish(tx, Event("series"))
    return title


async def check_now(tx: Tx, channel_ids: Sequence[UUID], *, now: datetime) -> None:
    """Check sources now, whatever their schedule says; one that is gone gets another chance."""
    for channel_id in channel_ids:
        if not await listings.ask_listing(tx, channel_id, now=now):
            raise _no_source()
    await publish(tx, Event("series"))


async def check_series_now(tx: Tx, series_id: UUID, *, now: datetime) -> list[UUID]:
    """Check all sources of a series now; returns their channels."""
    channel_ids = [source.channel_id for source in await series.list_series_sources(tx, series_id)]
    if not channel_ids:
        raise UserError(
            "This series has no source to check.",
            remedy="Add one first.",
            command="headgate series add QUERY --to SERIES",
        )
    await check_now(tx, channel_ids, now=now)
    return channel_ids


async def get_source_state(tx: Tx, channel_id: UUID) -> ListingOverview:
    found = await get_listing_states(tx, [channel_id])
    if not found:
        raise _no_source()
    return found[0]


async def set_frequency(tx: Tx, channel_id: UUID, choice: FrequencyChoice, *, now: datetime) -> None:
    """Set how often a source is checked."""
    if not await listings.pin_tier(tx, channel_id, tier=chosen_tier(choice), now=now):
        raise _no_source()
    await publish(tx, Event("series"))


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


async def remove_source(tx: Tx, series_id: UUID, channel_id: UUID, *, now: datetime) -> bool:
    """Remove a source from a series; true if it was there for it alone, and is deleted."""
    await get_source(tx, series_id, channel_id)
    is_lone = any(one.channel_id == channel_id for one in await list_lone_sources(tx, series_id))
    if is_lone:
        await remove_channel(tx, channel_id, now=now)
        await series.drop_empty_chapters(tx, series_id)
    else:
        await series.delete_source(tx, series_id=series_id, channel_id=channel_id, now=now)
    await publish(tx, Event("series"))
    return is_lone


async def remove_feed(tx: Tx, channel_id: UUID, *, now: datetime) -> Holdings:
    """Delete a feed with its posts and with the releases that it brought; returns what that was."""
    holdings = await remove_channel(tx, channel_id, now=now)
    await publish(tx, Event("series"))
    return holdings


def check_title(title: str) -> str:
    """Return the title of a series as it is stored, or say what is wrong with it."""
    text = typed_text(title, max_length=MAX_TITLE_LENGTH + 1)
    if not text:
        raise UserError("A series needs a title.", remedy="Enter a title.", field="title")
    if len(text) > MAX_TITLE_LENGTH:
        raise UserError(
            f"A title has at most {MAX_TITLE_LENGTH} characters.", remedy="Shorten it.", field="title"
        )
    return text


def _no_source() -> NotFound:
    return NotFound("There is no such source.")


def _no_series() -> NotFound:
    return NotFound("There is no such series.")
