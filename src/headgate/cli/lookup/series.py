"""From what a person types to the series, the listing or the chapter that is meant."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.cli.lookup.channels import nearest
from headgate.domain.errors import UserError
from headgate.kernel.logs import mask_url
from headgate.storage.channels.channel_overview import NamedChannel, find_channels
from headgate.storage.database import Tx
from headgate.storage.listings import series
from headgate.storage.listings.listing_overview import list_listings
from headgate.storage.listings.series import SeriesName, SeriesSource

SeriesArgument = Annotated[
    str, typer.Argument(metavar="SERIES", help="Title, id, or key of the only source of a series.")
]
ListingArgument = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="Title, address or id of a source: a feed, a series on a site."),
]
ChapterArgument = Annotated[
    str, typer.Argument(metavar="CHAPTER", help="Number of a chapter, its id, or `latest`.")
]
_GUESSED_FROM = 20_000


async def get_named_series(tx: Tx, reference: str) -> SeriesName:
    """Return the series that is meant, or say which could be."""
    found = await series.find_series(tx, reference)
    if not found:
        near = nearest(reference, await series.list_titles(tx))
        meant = f"Did you mean {near}? " if near else ""
        raise UserError(f"There is no series {reference!r}.", remedy=meant, command="headgate series list")
    return _only_one(found, reference)


async def find_named_series(tx: Tx, reference: str) -> SeriesName | None:
    """Return the series that is meant, if there is one of this name."""
    found = await series.find_series(tx, reference)
    return _only_one(found, reference) if found else None


def _only_one(found: list[SeriesName], reference: str) -> SeriesName:
    if len(found) > 1:
        listed = "; ".join(f"{one.id} ({one.title})" for one in found[:5])
        raise UserError(
            f"{len(found)} series are called {reference!r}.", remedy=f"Use the id of one: {listed}."
        )
    return found[0]


async def get_listing(tx: Tx, reference: str, *, platform: str | None = None) -> NamedChannel:
    """Return the listing that is meant, of all platforms or of one, or say which could be."""
    found = [
        one
        for one in await find_channels(tx, reference)
        if one.kind == "listing" and platform in {None, one.platform}
    ]
    found = [one for one in found if one.key == reference] or found
    word, shown = ("feed", "feed list") if platform == "feeds" else ("source", "series list")
    if not found:
        known = await list_listings(tx, platform=platform, limit=_GUESSED_FROM)
        near = nearest(reference, [one.title for one in known])
        meant = f"Did you mean {near}? " if near else ""
        raise UserError(
            f"There is no {word} {mask_url(reference)!r}.",
            remedy=meant,
            command=f"headgate {shown}",
        )
    if len(found) > 1:
        listed = "; ".join(f"{one.id} ({one.platform}, {mask_url(one.key)})" for one in found[:5])
        raise UserError(
            f"{len(found)} {word}s are called {reference!r}.", remedy=f"Use the id of one: {listed}."
        )
    return found[0]


async def get_source(tx: Tx, named: SeriesName, reference: str) -> SeriesSource:
    """Return the source of a series that is meant, or say which it has."""
    sources = await series.list_series_sources(tx, named.id)
    found = [
        one
        for one in sources
        if reference.lower() in {str(one.channel_id), one.key.lower(), one.title.lower()}
    ]
    found = found or [one for one in sources if reference.lower() == one.platform]
    if len(found) == 1:
        return found[0]
    listed = "; ".join(f"{one.channel_id} ({one.platform}, {mask_url(one.key)})" for one in sources[:5])
    problem = f"has no source {mask_url(reference)!r}" if not found else f"has {len(found)} such sources"
    raise UserError(
        f"{named.title} {problem}.",
        remedy=f"Use the id of one: {listed}." if listed else "It has no source.",
    )
