"""Items as lists show them: with their creator, tags and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.catalogue.labelling import labels_of
from headgate.catalogue.sets import show_sets
from headgate.storage.catalogue.items import Item
from headgate.storage.database import Tx


@dataclass(frozen=True)
class LabelledItem(Item):
    """An item of a list, with its creator and tags."""

    creator: str = ""
    tags: tuple[str, ...] = ()
    volumes: str = ""
    """How many volumes of a set are there, of how many; empty for a single file."""
    problem: bool = False
    """Volumes are missing, and a person should look at it."""


async def with_labels(tx: Tx, items: Sequence[Item]) -> list[LabelledItem]:
    """Return items with the creator and tags that count for each, and how complete sets are."""
    item_ids = [item.id for item in items]
    found = await labels_of(tx, item_ids)
    sets = await show_sets(tx, item_ids)
    return [
        LabelledItem(
            **vars(item),
            creator=found[item.id].creator_name,
            tags=found[item.id].tag_names,
            volumes=sets[item.id].volumes if item.id in sets else "",
            problem=item.id in sets and sets[item.id].problem,
        )
        for item in items
    ]
