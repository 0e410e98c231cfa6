"""Groups and their members. Everybody locks items by id, then groups by id."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.library.name_keys import name_key
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

GroupKind = Literal["album", "hand", "rule"]
NamedBy = Literal["automatic", "person"]


@dataclass(frozen=True)
class LockedItem:
    """An item that nobody else changes until the transaction ends."""

    id: UUID
    group_id: UUID | None
    grouped_by: str
    removed: bool


@dataclass(frozen=True)
class LockedGroup:
    """A group that nobody else changes until the transaction ends."""

    id: UUID
    kind: GroupKind
    name: str
    name_by: NamedBy
    created_at: datetime
    dissolved_at: datetime | None
    dissolved_items: list[UUID]


@dataclass(frozen=True)
class KnownGroup:
    """A group as it is shown, without its members."""

    id: UUID
    kind: GroupKind
    name: str
    name_by: NamedBy
    created_at: datetime
    dissolved_at: datetime | None
    channel_id: UUID | None
    """The channel of an album; none if that was removed."""
    channel_title: str
    rule_name: str


@dataclass(frozen=True)
class GroupMember:
    """A visible item of a group."""

    id: UUID
    group_id: UUID
    title: str
    kind: str
    type: str
    size_bytes: int
    sent_at: datetime
    channel_id: UUID
    channel_title: str
    grouped_by: str


@dataclass(frozen=True)
class NamedGroup:
    """A group and its name."""

    id: UUID
    name: str


@dataclass(frozen=True)
class _Alias:
    old_id: UUID
    item_id: UUID


async def list_known(tx: Tx, ids: Collection[UUID]) -> set[UUID]:
    """Return those of the ids that are groups, also dissolved ones."""
    return set(await tx.column(Q["list_known"], ids=sorted(ids)))


async def list_members(tx: Tx, group_ids: Collection[UUID]) -> set[UUID]:
    return set(await tx.column(Q["list_members"], ids=sorted(group_ids))) if group_ids else set()


async def list_copies(tx: Tx, item_ids: Collection[UUID]) -> set[UUID]:
    """Return the items that are shown as one row with these, themselves included."""
    return set(await tx.column(Q["list_copies"], ids=sorted(item_ids)))


async def list_aliases(tx: Tx, item_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Return the sets that items became parts of."""
    found = await tx.all(_Alias, Q["list_aliases"], ids=sorted(item_ids))
    return {alias.old_id: alias.item_id for alias in found}


async def lock_items(tx: Tx, item_ids: Collection[UUID]) -> dict[UUID, LockedItem]:
    if not item_ids:
        return {}
    return {item.id: item for item in await tx.all(LockedItem, Q["lock_items"], ids=sorted(item_ids))}


async def list_album_groups(tx: Tx, item_ids: Collection[UUID]) -> set[UUID]:
    return set(await tx.column(Q["list_album_groups"], ids=sorted(item_ids))) if item_ids else set()


async def lock_groups(tx: Tx, group_ids: Collection[UUID]) -> dict[UUID, LockedGroup]:
    if not group_ids:
        return {}
    return {group.id: group for group in await tx.all(LockedGroup, Q["lock_groups"], ids=sorted(group_ids))}


async def insert_group(tx: Tx, group_id: UUID, name: str, *, now: datetime) -> None:
    await tx.execute(Q["insert_group"], id=group_id, name=name, name_key=name_key(name), now=now)


async def count_members(tx: Tx, group_id: UUID) -> int:
    return await tx.value(Q["count_members"], id=group_id)


async def join_items(tx: Tx, group_id: UUID, item_ids: Collection[UUID]) -> None:
    """Put locked items into a locked group, as a person wants it."""
    await tx.execute(Q["join_items"], id=group_id, item_ids=sorted(item_ids))


async def leave_groups(tx: Tx, item_ids: Collection[UUID]) -> None:
    await tx.execute(Q["leave_groups"], item_ids=sorted(item_ids))


async def exclude_items(tx: Tx, item_ids: Collection[UUID]) -> None:
    """Keep automation from putting items back into the groups that they are about to leave."""
    await tx.execute(Q["exclude_items"], item_ids=sorted(item_ids))


async def dissolve_emptied(tx: Tx, group_ids: Collection[UUID], *, now: datetime) -> list[UUID]:
    """Dissolve those of the groups that have no members any more; returns them."""
    return sorted(await tx.column(Q["dissolve_emptied"], ids=sorted(group_ids), now=now)) if group_ids else []


async def dissolve(tx: Tx, group_id: UUID, item_ids: Collection[UUID], *, now: datetime) -> None:
    await tx.execute(Q["dissolve"], id=group_id, item_ids=sorted(item_ids), now=now)


async def list_dissolved_items(tx: Tx, group_id: UUID) -> list[UUID]:
    """Return what a group had when a person dissolved it."""
    return await tx.column(Q["list_dissolved_items"], id=group_id)


async def restore(tx: Tx, group_id: UUID) -> None:
    await tx.execute(Q["restore"], id=group_id)


async def rename(tx: Tx, group_id: UUID, name: str) -> None:
    await tx.execute(Q["rename"], id=group_id, name=name, name_key=name_key(name))


async def get_group(tx: Tx, group_id: UUID) -> KnownGroup | None:
    return await tx.one(KnownGroup, Q["get_group"], id=group_id)


async def list_shown_members(
    tx: Tx, group_ids: Collection[UUID], *, limit: int
) -> dict[UUID, list[GroupMember]]:
    """Return the visible members of groups, the first posted first."""
    members: dict[UUID, list[GroupMember]] = {group_id: [] for group_id in group_ids}
    for member in await tx.all(GroupMember, Q["list_shown_members"], ids=sorted(group_ids), limit=limit):
        members[member.group_id].append(member)
    return members


async def find_by_name(tx: Tx, *, pattern: str | None, limit: int) -> list[NamedGroup]:
    return await tx.all(NamedGroup, Q["find_by_name"], pattern=pattern or "%", limit=limit)


async def find_cover_item(tx: Tx, group_id: UUID) -> UUID | None:
    """Return the member whose picture the library shows for a group without a cover of its own."""
    return await tx.value(Q["find_cover_item"], id=group_id)
