"""What people say of creators and tags. It goes before what rules read, and stays until they change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.catalogue.labelling import labels_of
from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.item_labels import ItemLabels
from headgate.domain.library.label_rules import MAX_LABEL_LENGTH, LabelKind, label_key, normalised
from headgate.domain.text import containing, storable
from headgate.storage.catalogue.sets import find_alias
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.labels import labels, rules
from headgate.storage.labels.labels import UsedName

MAX_ITEMS = 1000
"""That one change is about."""
MAX_CHANGED_TAGS = 50
MAX_SAID_TAGS = 200
"""That people said of one item."""
COUNT_CAP = 1000


@dataclass(frozen=True)
class LabelChange:
    """What a person says of items; what is left empty stays."""

    creator: str | None = None
    """Empty: they have none."""
    reset_creator: bool = False
    """Leave the creator to the rules."""
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    """Tags to leave to the rules."""


@dataclass(frozen=True)
class UsedNames:
    """A page of creators or tags, by name."""

    names: list[UsedName]
    next: str | None
    """Where the next page begins."""


async def show_labels(tx: Tx, item_id: UUID) -> ItemLabels:
    return (await labels_of(tx, [item_id]))[item_id]


async def change_labels(
    tx: Tx, item_ids: Sequence[UUID], change: LabelChange, *, now: datetime
) -> dict[UUID, ItemLabels]:
    """Store what a person says of one or many items, the same of each; returns what counts then."""
    change = _checked(change, item_ids)
    wanted = await _lock(tx, item_ids)
    if change.creator is not None or change.reset_creator:
        await labels.clear_creators(tx, wanted)
    if change.creator is not None:
        await labels.say_labels(tx, wanted, "creator", [change.creator], removed=not change.creator, now=now)
    await labels.clear_tags(tx, wanted, [*change.add, *change.remove, *change.reset])
    await labels.say_labels(tx, wanted, "tag", change.add, removed=False, now=now)
    await labels.say_labels(tx, wanted, "tag", change.remove, removed=True, now=now)
    if await labels.count_said(tx, wanted) > MAX_SAID_TAGS:
        raise UserError(
            f"An item can have at most {MAX_SAID_TAGS} tags that people set or removed.", field="tags"
        )
    await publish(tx, Event("items"))
    return await labels_of(tx, wanted)


async def list_names(tx: Tx, kind: LabelKind, *, search: str = "", after: str = "", limit: int) -> UsedNames:
    """List creators or tags in use; more than `COUNT_CAP` items are counted as one more."""
    found = await labels.list_used(
        tx, kind, after=after, pattern=containing(search), cap=COUNT_CAP + 1, limit=limit + 1
    )
    more = len(found) > limit
    return UsedNames(found[:limit], found[limit - 1].key if more else None)


async def rename(tx: Tx, kind: LabelKind, name: str, *, to: str) -> str:
    """Rename a creator or tag everywhere, now and in future; an existing name merges the two.

    Returns the new name as it is written. Items keep what was read, so that it can be undone.
    """
    key, new = label_key(storable(name)), _checked_name(to, field="to")
    await rules.lock_ruleset(tx)
    if not await labels.is_known(tx, kind, key):
        raise NotFound(f"No item has the {kind} {name!r}.", field="name")
    await labels.rename(tx, kind, key=key, to=new)
    await publish(tx, Event("items"))
    return new


async def restore_name(tx: Tx, kind: LabelKind, name: str) -> None:
    """Undo a renaming: what is read as `name` counts as `name` again."""
    await rules.lock_ruleset(tx)
    if not await labels.restore_name(tx, kind, key=label_key(storable(name))):
        raise NotFound(f"The {kind} {name!r} was not renamed.", field="name")
    await publish(tx, Event("items"))


async def _lock(tx: Tx, item_ids: Sequence[UUID]) -> list[UUID]:
    """Take items for a change; one that became part of a set leads to the set."""
    locked = set(await labels.lock_items(tx, sorted(set(item_ids))))
    targets = [await find_alias(tx, one) for one in sorted(set(item_ids) - locked)]
    found = {target for target in targets if target is not None}
    if None in targets or len(more := await labels.lock_items(tx, sorted(found - locked))) < len(
        found - locked
    ):
        raise NotFound(
            "There is no such item." if len(item_ids) == 1 else "Some of these items do not exist.",
            remedy="It may have been removed with its channel.",
            field="items",
        )
    return sorted({*locked, *more})


def _checked(change: LabelChange, item_ids: Sequence[UUID]) -> LabelChange:
    if not 1 <= len(item_ids) <= MAX_ITEMS:
        raise UserError(f"Choose 1 to {MAX_ITEMS} items.", field="items")
    if change.creator is not None and change.reset_creator:
        raise UserError("Set the creator or leave it to the rules, not both.", field="creator")
    creator = change.creator
    if creator is not None and creator.strip():
        creator = _checked_name(creator, field="creator")
    add, remove, reset = (_checked_tags(tags) for tags in (change.add, change.remove, change.reset))
    keys = [label_key(tag) for tag in (*add, *remove, *reset)]
    if len(keys) > MAX_CHANGED_TAGS:
        raise UserError(f"Change at most {MAX_CHANGED_TAGS} tags at once.", field="tags")
    if len(set(keys)) < len(keys):
        raise UserError("A tag is named twice.", remedy="Add it or remove it, not both.", field="tags")
    return LabelChange(
        creator=None if creator is None else creator.strip(),
        reset_creator=change.reset_creator,
        add=add,
        remove=remove,
        reset=reset,
    )


def _checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    names = [_checked_name(tag, field="tags") for tag in tags]
    return tuple({label_key(name): name for name in names}.values())


def _checked_name(typed: str, *, field: str) -> str:
    """Return a name as it is stored, or say what is wrong with it."""
    name = normalised(storable(typed), "as_written")
    if not name or not label_key(name):
        raise UserError(f"{typed.strip()!r} is not a name.", remedy="Use letters or digits.", field=field)
    if len(typed.strip()) > MAX_LABEL_LENGTH:
        raise UserError(f"A name has at most {MAX_LABEL_LENGTH} characters.", field=field)
    return name
