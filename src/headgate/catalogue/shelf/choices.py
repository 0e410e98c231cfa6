"""What the library's filters can be about: channels, topics, creators and tags."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.catalogue.labels import list_names
from headgate.domain.library.shelf_filters import ShelfFilters
from headgate.storage.database import Tx
from headgate.storage.shelf.row_files import OfferedChannel, TopicChoice, list_channels, list_topics

MAX_CHOICES = 500
MAX_NAMES = 300


@dataclass(frozen=True)
class FilterChoices:
    """What to choose from; others can be typed."""

    channels: list[OfferedChannel]
    topics: list[TopicChoice]
    """Of the channels that are chosen already."""
    creators: list[str]
    tags: list[str]


async def list_choices(tx: Tx, filters: ShelfFilters) -> FilterChoices:
    """Return what can be added to filters."""
    creators = await list_names(tx, "creator", limit=MAX_NAMES)
    tags = await list_names(tx, "tag", limit=MAX_NAMES)
    return FilterChoices(
        channels=await list_channels(tx, limit=MAX_CHOICES),
        topics=await list_topics(tx, filters.channels, limit=MAX_CHOICES) if filters.channels else [],
        creators=[one.name for one in creators.names],
        tags=[one.name for one in tags.names],
    )
