"""Items as lists show them: with their creator and tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.catalogue.labelling import labels_of
from headgate.storage.catalogue.items import Item
from headgate.storage.database import Tx


@dataclass(frozen=True)
class LabelledItem(Item):
    """An item of a list, with its creator and tags."""

    creator: str = ""
    tags: tuple[str, ...] = ()


async def with_labels(tx: Tx, items: Sequence[Item]) -> list[LabelledItem]:
    """Return items with the creator and tags that count for each."""
    found = await labels_of(tx, [item.id for item in items])
    return [
        LabelledItem(**vars(item), creator=found[item.id].creator_name, tags=found[item.id].tag_names)
        for item in items
    ]
