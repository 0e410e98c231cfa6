"""Targets: asking an account where it can write to, and keeping some together in lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.kernel.ids import Ids
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Database, Tx
from headgate.storage.errors import Refused
from headgate.storage.reminders import reminders, target_lists
from headgate.storage.reminders.target_lists import ListLine, LockedList
from headgate.storage.reminders.targets import Refreshed, SeenTarget, note_targets

LONGEST_NAME = 200
MOST_MEMBERS = 100_000


class Breaks(UserError):
    """What a person wants would silence reminders; it is done if they confirm it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, remedy="Confirm it, or change these reminders first.")


async def refresh(
    database: Database, links: Links, account: AccountRef, *, ids: Ids, now: datetime
) -> Refreshed:
    """Ask the platform where an account can write to, and write that down."""
    async with links.call(account, "read") as link:
        found = await link.discover()
    seen = [SeenTarget(one.key, one.title) for one in found if one.kind == "target"]
    async with database.transaction() as tx:
        return await note_targets(tx, account.id, seen, platform=account.platform, ids=ids, now=now)


async def create_list(tx: Tx, name: str, target_ids: Sequence[UUID] = (), *, ids: Ids, now: datetime) -> UUID:
    """Make a list, with its first members; returns its id."""
    name = _checked_name(name)
    list_id = ids.new()
    if not await target_lists.insert_list(tx, list_id, name=name, now=now):
        raise _name_taken(name)
    await target_lists.add_members(tx, list_id, _few_enough(target_ids))
    return list_id


async def rename_list(tx: Tx, list_id: UUID, name: str) -> None:
    name = _checked_name(name)
    await _locked(tx, list_id)
    try:
        await target_lists.rename_list(tx, list_id, name=name)
    except Refused as error:
        raise _name_taken(name) from error


async def delete_list(tx: Tx, list_id: UUID) -> None:
    """Delete a list; refused while reminders send to it, because they would fall silent unnoticed."""
    locked = await _locked(tx, list_id)
    users = await target_lists.list_users_of(tx, list_id)
    if users:
        raise UserError(
            f"Reminders send to the list {locked.name!r}: {name_some(users)}.",
            remedy="Take the list out of them, or archive them, and delete it then.",
        )
    await target_lists.delete_list(tx, list_id)


async def add_members(tx: Tx, list_id: UUID, target_ids: Sequence[UUID]) -> int:
    """Put targets into a list, behind those that are there; returns how many are new."""
    await _locked(tx, list_id)
    return await target_lists.add_members(tx, list_id, _few_enough(target_ids))


async def remove_members(
    tx: Tx, list_id: UUID, target_ids: Sequence[UUID], *, add: Sequence[UUID] = (), confirmed: bool = False
) -> int:
    """Take targets out of a list, and put others in; returns how many were taken out.

    Refused, unless confirmed, if reminders would have nobody to send to any more.
    """
    locked = await _locked(tx, list_id)
    removed = await target_lists.remove_members(tx, list_id, target_ids)
    await target_lists.add_members(tx, list_id, _few_enough(add))
    alone = await reminders.list_left_alone(tx, list_id) if removed and not confirmed else []
    if alone:
        raise Breaks(f"Without these members of {locked.name!r} nobody gets {name_some(alone)}.")
    return removed


async def find_list(tx: Tx, reference: str) -> ListLine:
    """Return the list that a name or an id means."""
    for line in await target_lists.list_lists(tx):
        if reference.lower() in {str(line.id), line.name.lower()}:
            return line
    raise UserError(f"There is no list {reference!r}.", command="headgate target lists")


async def _locked(tx: Tx, list_id: UUID) -> LockedList:
    locked = await target_lists.lock_list(tx, list_id)
    if locked is None:
        raise UserError("There is no such list.", remedy="It may have been deleted; look at the lists again.")
    return locked


def name_some(titles: Sequence[str]) -> str:
    """Return the first few titles, and how many more there are."""
    named = ", ".join(repr(title) for title in titles[:3])
    return named if len(titles) <= 3 else f"{named} and {len(titles) - 3:,} more"


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise UserError(
            f"A list needs a name of 1 to {LONGEST_NAME} characters.", remedy="Give it another name."
        )
    return name


def _name_taken(name: str) -> UserError:
    return UserError(f"There is a list {name!r} already.", remedy="Choose another name.")


def _few_enough(target_ids: Sequence[UUID]) -> Sequence[UUID]:
    if len(target_ids) > MOST_MEMBERS:
        raise UserError(
            f"A list takes at most {MOST_MEMBERS:,} targets at once.", remedy="Add them in pieces."
        )
    return target_ids
