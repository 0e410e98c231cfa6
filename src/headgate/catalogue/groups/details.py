"""A group with everything that is shown of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.catalogue.groups.locking import MAX_MEMBERS
from headgate.catalogue.labelling import labels_of
from headgate.domain.errors import NotFound
from headgate.domain.words.group_words import group_reason
from headgate.storage.database import Tx
from headgate.storage.groups import covers, groups
from headgate.storage.groups.groups import GroupKind, GroupMember, NamedBy
from headgate.storage.library.pictures import list_pictures


@dataclass(frozen=True)
class CoverSize:
    """The cover in one width and format."""

    url: str
    width_px: int
    height_px: int
    media_type: str


@dataclass(frozen=True)
class GroupDetails:
    """A group, why it exists, and its visible members, the first posted first."""

    id: UUID
    name: str
    kind: GroupKind
    name_by: NamedBy
    reason: str
    created_at: datetime
    dissolved_at: datetime | None
    channel_id: UUID | None
    """Of an album; groups that people make may span channels."""
    channels: tuple[str, ...]
    """Titles of the channels that its members are in."""
    members: tuple[GroupMember, ...]
    size_bytes: int
    creators: tuple[str, ...]
    tags: tuple[str, ...]
    """Of all members."""
    cover: tuple[CoverSize, ...]
    cover_by: NamedBy


async def show_group(tx: Tx, group_id: UUID) -> GroupDetails:
    """Return a group, also one that was dissolved and can be restored."""
    group = await groups.get_group(tx, group_id)
    if group is None:
        raise NotFound("There is no such group.", remedy="It may have been removed.", field="group")
    members = (await groups.list_shown_members(tx, [group_id], limit=MAX_MEMBERS))[group_id]
    labels = await labels_of(tx, [member.id for member in members]) if members else {}
    chosen = (await covers.list_covers(tx, [group_id])).get(group_id, [])
    cover = [CoverSize(one.url, one.width_px, one.height_px, one.media_type) for one in chosen]
    return GroupDetails(
        id=group.id,
        name=group.name,
        kind=group.kind,
        name_by=group.name_by,
        reason=group_reason(
            group.kind, channel=group.channel_title, rule=group.rule_name, created_at=group.created_at
        ),
        created_at=group.created_at,
        dissolved_at=group.dissolved_at,
        channel_id=group.channel_id,
        channels=tuple(sorted({member.channel_title for member in members})),
        members=tuple(members),
        size_bytes=sum(member.size_bytes for member in members),
        creators=_each_once(one.creator_name for one in labels.values()),
        tags=_each_once(tag for one in labels.values() for tag in one.tag_names),
        cover=tuple(cover or await _members_cover(tx, group_id)),
        cover_by="person" if chosen else "automatic",
    )


async def _members_cover(tx: Tx, group_id: UUID) -> Sequence[CoverSize]:
    """Return the picture that the library shows while nobody chose one."""
    item_id = await groups.find_cover_item(tx, group_id)
    if item_id is None:
        return ()
    found = (await list_pictures(tx, [item_id])).get(item_id, [])
    return [CoverSize(one.url, one.width_px, one.height_px, one.media_type) for one in found]


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}, key=str.casefold))
