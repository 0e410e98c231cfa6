"""The cover of a group: a person's choice, or else the first picture among its members."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from headgate.catalogue.groups.locking import get_open, lock_group, lock_things
from headgate.domain.errors import UserError
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.groups import covers
from headgate.storage.library.pictures import NewPicture
from headgate.storage.shelf.touched import touch_groups


async def pick_cover(tx: Tx, group_id: UUID, item_id: UUID) -> None:
    """Show a group by the picture of a member; it stays when the member leaves."""
    locked = await lock_things(tx, [item_id], target=group_id)
    get_open(locked.groups.get(group_id))
    members = locked.members_of(group_id)
    if not members:
        raise UserError("This item is not in the group.", remedy="Choose a member.", field="item")
    if not await covers.copy_cover(tx, group_id, members[0].id):
        raise UserError(
            "This item has no picture.", remedy="Choose another member, or upload a picture.", field="item"
        )
    await _touch(tx, group_id)


async def set_cover(tx: Tx, group_id: UUID, pictures: Sequence[NewPicture]) -> None:
    """Show a group by a picture that is stored."""
    await lock_group(tx, group_id)
    await covers.replace_cover(tx, group_id, pictures)
    await _touch(tx, group_id)


async def reset_cover(tx: Tx, group_id: UUID) -> bool:
    """Leave the cover to the members again; false if no person had chosen one."""
    await lock_group(tx, group_id)
    had = await covers.delete_cover(tx, group_id)
    await _touch(tx, group_id)
    return had


async def _touch(tx: Tx, group_id: UUID) -> None:
    touch_groups(tx, [group_id])
    await publish(tx, Event("items"))
