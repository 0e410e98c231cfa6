"""What rules read in items: their texts from the database, and the labels found in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from uuid import UUID

from headgate.domain.library.item_labels import NO_LABELS, ItemLabels, LabelRow, combine_labels
from headgate.domain.library.label_rules import LabelRule
from headgate.domain.library.labels import FoundLabel, LabelTexts, find_labels
from headgate.kernel.clock import Clock
from headgate.storage.database import Tx
from headgate.storage.labels import labels
from headgate.storage.labels.labels import SeenText, StoredLabel


async def read_texts(tx: Tx, item_ids: Sequence[UUID]) -> dict[UUID, LabelTexts]:
    """Return the texts of items; one that no message holds any more has none."""
    seen = await labels.list_texts(tx, item_ids) if item_ids else []
    texts = {item_id: LabelTexts(str(item_id)) for item_id in item_ids}
    for item_id, places in groupby(seen, key=lambda place: place.item_id):
        texts[item_id] = gather_texts(item_id, list(places))
    return texts


def gather_texts(item_id: UUID, places: Sequence[SeenText]) -> LabelTexts:
    """Return what rules read of an item: the first topic, every caption once, and every file name once.

    The caption of an album stands on one of its messages and belongs to all of them.
    """
    captions = dict.fromkeys(text for place in places for text in (place.text, *place.album) if text)
    return LabelTexts(
        str(item_id),
        topic=next((place.topic for place in places if place.topic), ""),
        caption="\n".join(captions),
        file_names=tuple(dict.fromkeys(place.file_name for place in places if place.file_name)),
    )


async def find_in_items(
    texts: Mapping[UUID, LabelTexts], rules: Sequence[LabelRule], *, clock: Clock
) -> dict[UUID, tuple[FoundLabel, ...]]:
    """Return everything that rules read in each item; other work goes on between two items."""
    found: dict[UUID, tuple[FoundLabel, ...]] = {}
    for item_id, text in texts.items():
        found[item_id] = find_labels(text, rules)
        await clock.sleep(0)
    return found


async def labels_of(tx: Tx, item_ids: Sequence[UUID]) -> dict[UUID, ItemLabels]:
    """Return the creator and tags that count for each item."""
    stored = await labels.list_labels(tx, item_ids) if item_ids else []
    shown = dict.fromkeys(item_ids, NO_LABELS)
    for item_id, rows in groupby(stored, key=lambda row: row.item_id):
        shown[item_id] = combine_labels(as_rows(rows))
    return shown


def as_rows(stored: Iterable[StoredLabel]) -> list[LabelRow]:
    return [LabelRow(row.kind, row.source, row.name, row.rule, row.removed) for row in stored]
