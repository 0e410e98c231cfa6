"""Labels of items: what rules read, what people said, and the names under which it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.domain.library.label_rules import LabelKind, label_key
from headgate.domain.library.labels import FoundLabel, LabelSource
from headgate.storage.arrays import columns
from headgate.storage.database import Tx
from headgate.storage.labels.queue import MAX_ALBUM
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import queue_items, queue_label, touch_items

Q = load_queries(__name__)

MAX_SEEN = 20
"""Messages of an item that rules read; a favourite is posted again and again."""


@dataclass(frozen=True)
class SeenText:
    """What rules read of one place where an item was seen."""

    item_id: UUID
    file_name: str
    topic: str
    text: str
    album: list[str]
    """What was said in messages that were posted as one with it, in their order."""


@dataclass(frozen=True)
class StoredLabel:
    """A label of an item, by the name under which it counts."""

    item_id: UUID
    kind: LabelKind
    source: LabelSource
    name: str
    rule: str
    removed: bool


class _NewLabel(NamedTuple):
    item_id: UUID
    kind: str
    key: str
    name: str
    rule: str


@dataclass(frozen=True)
class UsedName:
    """A creator or tag, and how many items have it."""

    key: str
    name: str
    """As rules or people wrote it."""
    shown_as: str
    """As it is shown; another name where a person renamed or merged it."""
    items: int


@dataclass(frozen=True)
class _Named:
    kind: LabelKind
    key: str
    name: str


async def list_texts(tx: Tx, item_ids: Sequence[UUID]) -> list[SeenText]:
    """Return what was said with items, and what their files are called, the first message first."""
    return await tx.all(
        SeenText, Q["list_texts"], item_ids=list(item_ids), max_seen=MAX_SEEN, max_album=MAX_ALBUM
    )


async def list_labels(tx: Tx, item_ids: Sequence[UUID]) -> list[StoredLabel]:
    """Return the labels of items; what a person said last comes last."""
    return await tx.all(StoredLabel, Q["list_labels"], item_ids=list(item_ids))


async def list_names(tx: Tx, labels: Iterable[tuple[LabelKind, str]]) -> Mapping[tuple[LabelKind, str], str]:
    """Return the names that people gave to labels, by kind and key."""
    wanted = sorted(set(labels))
    found = await tx.all(
        _Named, Q["list_names"], kinds=[kind for kind, _ in wanted], keys=[key for _, key in wanted]
    )
    return {(one.kind, one.key): one.name for one in found}


async def hold_items(tx: Tx, item_ids: Sequence[UUID]) -> list[UUID]:
    """Return those of the items that are there; none of them is removed before the transaction ends."""
    return await tx.column(Q["hold_items"], item_ids=list(item_ids))


async def lock_items(tx: Tx, item_ids: Sequence[UUID]) -> list[UUID]:
    """Take items for a person's change; returns those that are there."""
    locked: list[UUID] = await tx.column(Q["lock_items"], item_ids=list(item_ids))
    touch_items(tx, locked)
    return locked


async def write_found(
    tx: Tx, item_ids: Sequence[UUID], found: Sequence[tuple[UUID, FoundLabel]], *, rules_version: int
) -> None:
    """Replace what rules read of items; what people said stays."""
    rows = [
        _NewLabel(item_id, label.kind, label_key(label.label), label.label, label.rule)
        for item_id, label in found
    ]
    fields = columns(_NewLabel._fields, rows) if rows else {}
    empty: dict[str, list[str]] = {name: [] for name in _NewLabel._fields}
    changed = await tx.column(
        Q["write_found"], labelled_ids=list(item_ids), rules_version=rules_version, **(empty | fields)
    )
    await queue_items(tx, changed)


async def clear_creators(tx: Tx, item_ids: Sequence[UUID]) -> None:
    await tx.execute(Q["clear_creators"], item_ids=list(item_ids))


async def clear_tags(tx: Tx, item_ids: Sequence[UUID], tags: Sequence[str]) -> None:
    """Forget what people said of these tags."""
    await tx.execute(Q["clear_tags"], item_ids=list(item_ids), keys=[label_key(tag) for tag in tags])


async def say_labels(
    tx: Tx, item_ids: Sequence[UUID], kind: LabelKind, names: Sequence[str], *, removed: bool, now: datetime
) -> None:
    """Store what a person says of items; what was said of these labels before has been cleared."""
    await tx.execute(
        Q["say_labels"],
        item_ids=list(item_ids),
        kind=kind,
        keys=[label_key(name) for name in names],
        names=list(names),
        removed=removed,
        now=now,
    )


async def count_said(tx: Tx, item_ids: Sequence[UUID]) -> int:
    """Return how many tags people said of the item with most of them."""
    return await tx.value(Q["count_said"], item_ids=list(item_ids))


async def hand_over(tx: Tx, aliases: Mapping[UUID, UUID]) -> None:
    """Give what people said of items to those that they became part of.

    All of them are locked first: what a person is saying at this moment is waited for, and handed over too.
    """
    if aliases:
        await lock_items(tx, sorted({*aliases, *aliases.values()}))
        await tx.execute(Q["hand_over"], from_ids=list(aliases), to_ids=list(aliases.values()))


async def list_used(
    tx: Tx, kind: LabelKind, *, after: str, pattern: str | None, cap: int, limit: int
) -> list[UsedName]:
    return await tx.all(
        UsedName, Q["list_used"], kind=kind, after=after, pattern=pattern, cap=cap, limit=limit
    )


async def is_known(tx: Tx, kind: LabelKind, key: str) -> bool:
    return await tx.value(Q["is_known"], kind=kind, key=key)


async def rename(tx: Tx, kind: LabelKind, *, key: str, to: str) -> None:
    """Let what counts as one name count as another from now on; the caller holds the rules."""
    await tx.execute(Q["rename"], kind=kind, key=key, to_key=label_key(to), name=to)
    await queue_label(tx, kind, [key, label_key(to)])


async def restore_name(tx: Tx, kind: LabelKind, *, key: str) -> bool:
    """Undo a renaming; false if there is none."""
    await queue_label(tx, kind, [key])
    return await tx.execute(Q["restore_name"], kind=kind, key=key) == 1
