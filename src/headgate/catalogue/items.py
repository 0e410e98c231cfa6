"""Pages of the library that stay put while new items arrive above them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from headgate.catalogue.history import HistoryEvent, tell_history
from headgate.catalogue.labelling import labels_of
from headgate.catalogue.sets import SetDetails, show_set
from headgate.catalogue.stored import StoredDetails, show_stored
from headgate.domain.errors import NotFound
from headgate.domain.library.item_labels import NO_LABELS, ItemLabels
from headgate.domain.text import containing
from headgate.storage.catalogue import items
from headgate.storage.catalogue.items import Item, ItemPlace, KnownItem, LibraryCounts, LibraryCursor
from headgate.storage.catalogue.sets import find_alias
from headgate.storage.database import Tx

COUNT_CAP = 10_000
MAX_PLACES = 100
"""Places of an item that are listed; a favourite is posted again and again."""


@dataclass(frozen=True)
class ItemPage:
    """Some items in the library's order, and whether there are older ones."""

    items: list[Item]
    has_older: bool

    @property
    def last(self) -> LibraryCursor | None:
        """The place of the last item, below which the next page begins."""
        return place_of(self.items[-1]) if self.items else None


@dataclass(frozen=True)
class ItemDetails:
    """An item, what is stored of it, and the messages in which it was seen, the first one first."""

    item: KnownItem
    places: tuple[ItemPlace, ...]
    stored: StoredDetails
    volumes: SetDetails | None = None
    """Of an item that is a set."""
    has_more: bool = False
    """It was seen more often than is listed here."""
    labels: ItemLabels = NO_LABELS
    history: tuple[HistoryEvent, ...] = ()
    """Oldest first."""

    @property
    def said(self) -> ItemPlace | None:
        """The first place where anything was said with it."""
        return next((place for place in self.places if place.text.strip()), None)

    @property
    def first(self) -> ItemPlace | None:
        return self.places[0] if self.places else None


def place_of(item: Item) -> LibraryCursor:
    return LibraryCursor(item.caught_at, item.id)


async def list_page(tx: Tx, *, below: LibraryCursor | None, search: str, limit: int) -> ItemPage:
    """Return the page below a place, or the first one."""
    found = await items.list_older_items(
        tx, below=below or items.NEWEST, pattern=containing(search), limit=limit + 1
    )
    return ItemPage(found[:limit], has_older=len(found) > limit)


async def show_item(tx: Tx, item_id: UUID) -> ItemDetails:
    """Return an item with where it was seen, also one that settings hide."""
    item = await items.get_item(tx, item_id)
    if item is None and (whole := await find_alias(tx, item_id)):
        # It is a volume of a set by now.
        item_id, item = whole, await items.get_item(tx, whole)
    if item is None:
        raise NotFound("There is no such item.", remedy="It may have been removed with its channel.")
    found = await items.list_places(tx, item_id, limit=MAX_PLACES + 1)
    stored = await show_stored(tx, item_id)
    labels = (await labels_of(tx, [item_id]))[item_id]
    seen = tuple(found[:MAX_PLACES])
    volumes = await show_set(tx, item_id)
    return ItemDetails(
        item,
        seen,
        stored,
        volumes,
        has_more=len(found) > MAX_PLACES,
        labels=labels,
        history=tell_history(item, seen, stored, volumes),
    )


async def count_library(tx: Tx) -> LibraryCounts:
    """Return the library in figures; one more than the cap means: more than the cap."""
    return await items.count_library(tx, cap=COUNT_CAP + 1)
