"""Pages of the library that stay put while new items arrive above them."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.domain.text import containing
from headgate.storage.catalogue import items
from headgate.storage.catalogue.items import Item, LibraryCounts, LibraryCursor
from headgate.storage.database import Tx

COUNT_CAP = 10_000
MAX_NEWEST = 200


@dataclass(frozen=True)
class ItemPage:
    """Some items in the library's order, and whether there are older ones."""

    items: list[Item]
    has_older: bool

    @property
    def last(self) -> LibraryCursor | None:
        """The place of the last item, below which the next page begins."""
        return place_of(self.items[-1]) if self.items else None


def place_of(item: Item) -> LibraryCursor:
    return LibraryCursor(item.caught_at, item.id)


async def list_page(tx: Tx, *, below: LibraryCursor | None, search: str, limit: int) -> ItemPage:
    """Return the page below a place, or the first one."""
    found = await items.list_older_items(
        tx, below=below or items.NEWEST, pattern=containing(search), limit=limit + 1
    )
    return ItemPage(found[:limit], has_older=len(found) > limit)


async def list_newest(tx: Tx, *, down_to: LibraryCursor, search: str) -> ItemPage | None:
    """Return everything from the newest down to a place; nothing if that is too much for one answer."""
    found = await items.list_newest_items(
        tx, down_to=down_to, pattern=containing(search), limit=MAX_NEWEST + 1
    )
    return ItemPage(found, has_older=False) if len(found) <= MAX_NEWEST else None


async def count_library(tx: Tx) -> LibraryCounts:
    """Return the library in figures; one more than the cap means: more than the cap."""
    return await items.count_library(tx, cap=COUNT_CAP + 1)
