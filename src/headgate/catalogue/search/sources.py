"""Reads what the documents of search are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from uuid import UUID

from headgate.catalogue.labelling import labels_of
from headgate.domain.library.facets import FacetKind, facet_number, lasting_facets
from headgate.domain.library.item_labels import ItemLabels
from headgate.domain.library.label_rules import label_key
from headgate.domain.library.search.search_documents import SearchTexts
from headgate.storage.database import Tx
from headgate.storage.labels.labels import SeenText, list_texts
from headgate.storage.search import sources
from headgate.storage.search.sources import SourceGroup, SourceItem


async def list_shown(tx: Tx, ids: Sequence[UUID]) -> list[SearchTexts]:
    """Return the texts of those of the items and groups that are shown, without the files inside."""
    groups = [group_texts(group) for group in await sources.list_groups(tx, ids)]
    return groups + await item_texts(tx, await sources.list_items(tx, ids))


async def add_paths(tx: Tx, listed: Sequence[SearchTexts]) -> list[SearchTexts]:
    """Return texts with the files inside; a large archive has many, so callers ask for some at a time."""
    paths = await sources.list_paths(tx, [texts.id for texts in listed if not texts.is_group])
    return [with_paths(texts, paths.get(texts.id, "")) for texts in listed]


def with_paths(texts: SearchTexts, paths: str) -> SearchTexts:
    """Return the texts with the names of files inside, a line for each."""
    return replace(texts, paths=(paths,)) if paths else texts


def group_texts(group: SourceGroup) -> SearchTexts:
    return SearchTexts(
        id=group.id,
        is_group=True,
        posted_at=group.created_at,
        caught_at=group.created_at,
        name=group.name,
        facets=lasting_facets(group.facets, group.dated_facets),
    )


async def item_texts(tx: Tx, items: Sequence[SourceItem]) -> list[SearchTexts]:
    """Return what is said of items, without the files inside them."""
    item_ids = [item.id for item in items]
    labels = await labels_of(tx, item_ids)
    seen = await list_texts(tx, item_ids) if item_ids else []
    places = {item_id: list(of_item) for item_id, of_item in groupby(seen, key=lambda place: place.item_id)}
    return [_texts_of(item, labels[item.id], places.get(item.id, [])) for item in items]


def _texts_of(item: SourceItem, labels: ItemLabels, places: Sequence[SeenText]) -> SearchTexts:
    captions = dict.fromkeys(text for place in places for text in (place.text, *place.album) if text)
    return SearchTexts(
        id=item.id,
        is_group=False,
        posted_at=item.posted_at,
        caught_at=item.caught_at,
        name=item.title,
        creator=labels.creator_name,
        tags=labels.tag_names,
        captions=tuple(captions),
        file_names=tuple(dict.fromkeys(place.file_name for place in places if place.file_name)),
        facets=facets_of(item, labels),
    )


def facets_of(item: SourceItem, labels: ItemLabels) -> tuple[int, ...]:
    """Return the facets by which an item is filtered inside a slice; its state changes too often for that."""
    named: list[tuple[FacetKind, str]] = [
        ("channel", str(item.channel_id)),
        ("kind", item.kind),
        ("type", item.type),
    ]
    named.extend(("topic", topic) for topic in item.topics)
    if labels.creator:
        named.append(("creator", label_key(labels.creator_name)))
    named.extend(("tag", label_key(tag)) for tag in labels.tag_names)
    if item.ungrouped:
        named.append(("ungrouped", ""))
    return tuple(facet_number(kind, key) for kind, key in named)
