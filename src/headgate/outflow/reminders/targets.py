"""Targets: asking an account where it can write to, and keeping some together in lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.kernel.ids import Ids
from headgate.lanes.links import AccountRef, Links
from headgate.lanes.places import list_places
from headgate.storage.database import Database, Tx
from headgate.storage.errors import Refused
from headgate.storage.events import Event, publish
from headgate.storage.reminders import reminders, target_lists
from headgate.storage.reminders.target_lists import ListLine, LockedList
from headgate.storage.reminders.targets import Refreshed, SeenTarget, note_targets

MAX_NAME = 200
MAX_MEMBERS = 100_000
CHANGED = Event("reminders")
"""Reminders show how many targets they send to."""


class Breaks(UserError):
    """What a person wants would silence reminders; it is done if they confirm it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, remedy="Confirm it, or change these reminders first.")


@dataclass(frozen=True)
class SavedList:
    """A list, and how many members are new."""

    line: ListLine
    added: int


async def refresh(
    database: Database, links: Links, account: AccountRef, *, ids: Ids, now: datetime
) -> Refreshed:
    """Ask the platform where an account can write to, and write that down."""
    found = await list_places(links, account)
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
    await publish(tx, CHANGED)
    return list_id


async def save_list(
    tx: Tx, name: str, target_ids: Sequence[UUID] = (), *, ids: Ids, now: datetime
) -> SavedList:
    """Add targets to the list of a name, which is created if there is none."""
    name = _checked_name(name)
    known = {line.name.lower(): line for line in await target_lists.list_lists(tx)}.get(name.lower())
    if known is None:
        list_id = await create_list(tx, name, target_ids, ids=ids, now=now)
        saved = await find_list(tx, str(list_id))
        return SavedList(saved, saved.members)
    added = await add_members(tx, known.id, target_ids)
    return SavedList(await find_list(tx, str(known.id)), added)


async def rename_list(tx: Tx, list_id: UUID, name: str) -> None:
    """Rename a list; reminders that send to it still do."""
    await _locked(tx, list_id)
    name = _checked_name(name)
    try:
        await target_lists.rename_list(tx, list_id, name=name)
    except Refused as error:
        raise _name_taken(name) from error
    await publish(tx, CHANGED)


async def delete_list(tx: Tx, list_id: UUID) -> None:
    """Delete a list; refused while reminders send to it, because they would fall silent unnoticed."""
    locked = await _locked(tx, list_id)
    users = await target_lists.list_users_of(tx, list_id)
    if users:
        raise UserError(
            f"Reminders send to the list {locked.name!r}: {name_some(users)}.",
            remedy="Remove the list from them or archive them first.",
        )
    await target_lists.delete_list(tx, list_id)
    await publish(tx, CHANGED)


async def add_members(tx: Tx, list_id: UUID, target_ids: Sequence[UUID]) -> int:
    """Put targets into a list, behind those that are there; returns how many are new."""
    await _locked(tx, list_id)
    added = await target_lists.add_members(tx, list_id, _few_enough(target_ids))
    await publish(tx, CHANGED)
    return added


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
    await publish(tx, CHANGED)
    return removed


async def find_list(tx: Tx, reference: str) -> ListLine:
    """Return the list that a name or an id means."""
    for line in await target_lists.list_lists(tx):
        if reference.lower() in {str(line.id), line.name.lower()}:
            return line
    raise NotFound(f"There is no list {reference!r}.", command="headgate target lists")


async def _locked(tx: Tx, list_id: UUID) -> LockedList:
    locked = await target_lists.lock_list(tx, list_id)
    if locked is None:
        raise NotFound("There is no such list.", remedy="It may have been deleted.")
    return locked


def name_some(titles: Sequence[str]) -> str:
    """Return the first few titles, and how many more there are."""
    named = ", ".join(repr(title) for title in titles[:3])
    return named if len(titles) <= 3 else f"{named} and {len(titles) - 3:,} more"


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise UserError(
            f"A list needs a name of 1 to {MAX_NAME} characters.",
            remedy="Give it another name.",
            field="name",
        )
    return name


def _name_taken(name: str) -> UserError:
    return UserError(f"There is already a list {name!r}.", remedy="Choose another name.", field="name")


def _few_enough(target_ids: Sequence[UUID]) -> Sequence[UUID]:
    if len(target_ids) > MAX_MEMBERS:
        raise UserError(
            f"A list takes at most {MAX_MEMBERS:,} targets at once.", remedy="Add them in pieces."
        )
    return target_ids
