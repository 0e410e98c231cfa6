"""What people do with groups. Whatever they decide, automation leaves alone.

`things` are ids of items and groups in any mix; a group means all its members, and an item that is shown
together with its copies means them too. Each action belongs to its caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.catalogue.groups.locking import (
    MAX_MEMBERS,
    Locked,
    get_open,
    lock_dissolved,
    lock_group,
    lock_things,
)
from headgate.catalogue.labels import MAX_ITEMS, LabelChange, change_labels
from headgate.domain.errors import UserError
from headgate.domain.library.group_names import check_group_name
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.groups import groups
from headgate.storage.groups.groups import LockedItem
from headgate.storage.shelf.touched import touch_groups, touch_items

MIN_NEW = 2
"""Items that make a group."""


@dataclass(frozen=True)
class Grouped:
    """A group that items joined."""

    id: UUID
    name: str
    items: int
    """How many joined; those that were members already do not count."""
    dissolved: tuple[UUID, ...] = ()
    """Groups that lost their last member by it."""


@dataclass(frozen=True)
class Ungrouped:
    """Items that left a group."""

    items: int
    dissolved: bool
    """Whether the group lost its last member by it."""


@dataclass(frozen=True)
class Dissolved:
    """A group that is no more; it can be restored."""

    id: UUID
    name: str
    items: int


async def create_group(tx: Tx, things: Sequence[UUID], *, name: str, ids: Ids, now: datetime) -> Grouped:
    """Make a group of two or more items, also of several channels; they leave the groups that they are in."""
    name = check_group_name(name)
    locked = await lock_things(tx, things, with_copies=True)
    if len(locked.chosen) < MIN_NEW:
        raise UserError("A group needs two or more items.", remedy="Choose more.", field="items")
    group_id = ids.new()
    await groups.insert_group(tx, group_id, name, now=now)
    return await _join(tx, group_id, name, locked, now=now)


async def add_to_group(tx: Tx, group_id: UUID, things: Sequence[UUID], *, now: datetime) -> Grouped:
    """Add items and the members of groups to a group; they leave the groups that they are in."""
    if not things:
        raise UserError("Choose what to add.", field="items")
    locked = await lock_things(tx, set(things) - {group_id}, target=group_id, with_copies=True)
    group = get_open(locked.groups.get(group_id))
    return await _join(tx, group_id, group.name, locked, now=now)


async def merge_groups(tx: Tx, group_id: UUID, others: Sequence[UUID], *, now: datetime) -> Grouped:
    """Move the members of other groups into one; the others dissolve, and it keeps its name and cover."""
    sources = set(others) - {group_id}
    if not sources or await groups.list_known(tx, sources) != sources:
        raise UserError("Choose two or more groups to merge.", field="groups")
    return await add_to_group(tx, group_id, sorted(sources), now=now)


async def remove_from_group(
    tx: Tx, group_id: UUID, item_ids: Collection[UUID], *, now: datetime
) -> Ungrouped:
    """Take items out of a group for good; those that are not in it stay where they are."""
    if not item_ids:
        raise UserError("Choose what to remove.", field="items")
    locked = await lock_things(tx, item_ids, target=group_id)
    get_open(locked.groups.get(group_id))
    leaving = [item.id for item in locked.members_of(group_id)]
    await groups.exclude_items(tx, leaving)
    await groups.leave_groups(tx, leaving)
    emptied = await groups.dissolve_emptied(tx, [group_id] if leaving else [], now=now)
    await _touch(tx, leaving, [group_id])
    return Ungrouped(len(leaving), dissolved=bool(emptied))


async def rename_group(tx: Tx, group_id: UUID, name: str) -> str:
    """Name a group; returns the name as it is stored, which stays whatever is posted later."""
    name = check_group_name(name)
    await lock_group(tx, group_id)
    await groups.rename(tx, group_id, name)
    await _touch(tx, (), [group_id])
    return name


async def dissolve_group(tx: Tx, group_id: UUID, *, now: datetime) -> Dissolved:
    """Let all members be on their own; the items stay. Dissolving it again changes nothing."""
    locked = await lock_things(tx, [group_id], target=group_id, dissolved_ok=True)
    group = locked.groups.get(group_id)
    if group is not None and group.dissolved_at is not None:
        return Dissolved(group_id, group.name, len(group.dissolved_items))
    name = get_open(group).name
    members = locked.members_of(group_id)
    kept = [item.id for item in members if not item.removed]
    await groups.exclude_items(tx, kept)
    await groups.leave_groups(tx, [item.id for item in members])
    await groups.dissolve(tx, group_id, kept, now=now)
    await _touch(tx, [item.id for item in members], [group_id])
    return Dissolved(group_id, name, len(kept))


async def restore_group(tx: Tx, group_id: UUID, *, now: datetime) -> Grouped:
    """Undo that a group was dissolved; what a person put into another group since stays there."""
    locked = await lock_dissolved(tx, group_id)
    group = locked.groups.get(group_id)
    if group is None or group.dissolved_at is None:
        return Grouped(group_id, get_open(group).name, 0)
    returning = [item for item in locked.items.values() if not item.removed and item.grouped_by != "person"]
    if not returning:
        raise UserError(
            f"Nothing of the group {group.name!r} is left to restore.",
            remedy="Its items are in other groups or were removed since.",
            field="group",
        )
    await groups.restore(tx, group_id)
    return await _move(tx, group_id, group.name, returning, now=now)


async def label_things(tx: Tx, things: Sequence[UUID], change: LabelChange, *, now: datetime) -> int:
    """Set the creator and tags of items, and of all members of groups; returns how many items changed."""
    locked = await lock_things(tx, things)
    item_ids = sorted(item.id for item in locked.items.values() if not item.removed)
    if not item_ids:
        raise UserError("Choose items or groups.", field="items")
    for start in range(0, len(item_ids), MAX_ITEMS):
        await change_labels(tx, item_ids[start : start + MAX_ITEMS], change, now=now)
    return len(item_ids)


async def _join(tx: Tx, group_id: UUID, name: str, locked: Locked, *, now: datetime) -> Grouped:
    joining = [item for item in locked.items.values() if item.group_id != group_id and not item.removed]
    if not joining:
        return Grouped(group_id, name, 0)
    if await groups.count_members(tx, group_id) + len(joining) > MAX_MEMBERS:
        raise UserError(
            f"A group has at most {MAX_MEMBERS:,} members.", remedy="Make another group.", field="items"
        )
    return await _move(tx, group_id, name, joining, now=now)


async def _move(tx: Tx, group_id: UUID, name: str, items: Sequence[LockedItem], *, now: datetime) -> Grouped:
    """Put items into a group, and dissolve those that lost their last member by it."""
    item_ids = [item.id for item in items]
    sources = {item.group_id for item in items if item.group_id}
    await groups.exclude_items(tx, item_ids)
    await groups.join_items(tx, group_id, item_ids)
    emptied = await groups.dissolve_emptied(tx, sources, now=now)
    await _touch(tx, item_ids, [group_id, *sources])
    return Grouped(group_id, name, len(items), tuple(emptied))


async def _touch(tx: Tx, item_ids: Collection[UUID], group_ids: Collection[UUID]) -> None:
    touch_items(tx, item_ids)
    touch_groups(tx, group_ids)
    await publish(tx, Event("items"))
