"""What an action on groups is about: items and whole groups, locked so that nobody else changes them.

Items are locked by id before groups by id, as everybody does. Who is in a group is only certain once both
are locked, so members are listed again then. If someone joined in between, it starts over without any lock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.storage.database import Tx
from headgate.storage.groups import groups
from headgate.storage.groups.groups import LockedGroup, LockedItem

MAX_MEMBERS = 10_000
"""Members of a group that people make, and items of one action."""
_MAX_TRIES = 20


@dataclass(frozen=True)
class Locked:
    """Items and groups that stay as they are until the transaction ends, unless the caller changes them."""

    items: dict[UUID, LockedItem]
    """What was chosen: items, and all members of chosen groups."""
    groups: dict[UUID, LockedGroup]
    chosen: frozenset[UUID]
    """The items without the copies that belong to the same row."""

    def members_of(self, group_id: UUID) -> list[LockedItem]:
        return [item for item in self.items.values() if item.group_id == group_id]


class _ChangedError(Exception):
    """A group has changed before it was locked."""


async def lock_things(
    tx: Tx,
    things: Collection[UUID],
    *,
    target: UUID | None = None,
    with_copies: bool = False,
    dissolved_ok: bool = False,
) -> Locked:
    """Lock items and whole groups by their ids, and a group that they are to join.

    With copies, an item stands for all that its row in the library shows.
    """
    whole = await groups.list_known(tx, things)
    if target is not None and target in things and target not in whole:
        get_open(None)
    items = await _follow_aliases(tx, set(things) - whole)

    async def lock() -> Locked:
        members = await groups.list_members(tx, whole)
        copies = await groups.list_copies(tx, items) if with_copies else set[UUID]()
        locked, known = await _lock(tx, {*items, *members, *copies}, {*whole, *({target} if target else ())})
        if any(item_id not in locked or locked[item_id].removed for item_id in items):
            raise NotFound(
                "Some of these items do not exist.", remedy="They may have been removed.", field="items"
            )
        if not await groups.list_members(tx, whole) <= locked.keys():
            raise _ChangedError
        for group_id in () if dissolved_ok else whole:
            get_open(known.get(group_id))
        return Locked(locked, known, frozenset(items | (members & locked.keys())))

    return await _try_again(tx, lock)


async def lock_dissolved(tx: Tx, group_id: UUID) -> Locked:
    """Lock a group that may be dissolved, and the items that it had, as far as they are there."""

    async def lock() -> Locked:
        before = await groups.list_dissolved_items(tx, group_id)
        items = await _follow_aliases(tx, before)
        locked, known = await _lock(tx, items, {group_id})
        if set(await groups.list_dissolved_items(tx, group_id)) != set(before):
            raise _ChangedError
        return Locked(locked, known, frozenset(locked))

    return await _try_again(tx, lock)


async def lock_group(tx: Tx, group_id: UUID) -> LockedGroup:
    """Lock an open group, without its members."""
    return get_open((await groups.lock_groups(tx, [group_id])).get(group_id))


def get_open(group: LockedGroup | None) -> LockedGroup:
    """Return a group that is there, or say why it is not."""
    if group is None:
        raise NotFound("There is no such group.", remedy="It may have been removed.", field="group")
    if group.dissolved_at is not None:
        raise NotFound(
            f"The group {group.name!r} was dissolved.", remedy="Undo that to change it.", field="group"
        )
    return group


async def _try_again(tx: Tx, lock: Callable[[], Awaitable[Locked]]) -> Locked:
    """Lock, and release the locks and start over while others change what is to be locked."""
    for _ in range(_MAX_TRIES):
        try:
            async with tx.attempt():
                return await lock()
        except _ChangedError:
            continue
    raise UserError(
        "Others keep changing these groups at the moment.", remedy="Try again in a moment.", field="items"
    )


async def _lock(
    tx: Tx, item_ids: Collection[UUID], group_ids: Collection[UUID]
) -> tuple[dict[UUID, LockedItem], dict[UUID, LockedGroup]]:
    if len(item_ids) > MAX_MEMBERS:
        raise UserError(
            f"At most {MAX_MEMBERS:,} items can be changed at once.", remedy="Choose fewer.", field="items"
        )
    locked = await groups.lock_items(tx, item_ids)
    around = {item.group_id for item in locked.values() if item.group_id}
    # Items that leave a group may join those of their albums before the commit: all are locked in one order.
    around |= await groups.list_album_groups(tx, locked.keys())
    return locked, await groups.lock_groups(tx, {*around, *group_ids})


async def _follow_aliases(tx: Tx, item_ids: Collection[UUID]) -> set[UUID]:
    """Return items; one that became part of a set leads to the set."""
    aliases = await groups.list_aliases(tx, item_ids) if item_ids else {}
    return {aliases.get(item_id, item_id) for item_id in item_ids}
