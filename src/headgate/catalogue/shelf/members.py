"""What is behind a row of the library: the members of a group, or the copies of one content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.items import ItemKind
from headgate.domain.library.shelf_filters import ShelfState
from headgate.storage.database import Tx
from headgate.storage.shelf import descriptions
from headgate.storage.shelf.descriptions import MemberRow

MAX_MEMBERS = 200
"""Of each row of a page; a group can have more."""


@dataclass(frozen=True)
class ShelfMember:
    """An item of a group, or one of several copies."""

    id: UUID
    title: str
    kind: ItemKind
    type: str
    size_bytes: int
    file_count: int
    sent_at: datetime
    channel_id: UUID
    channel_title: str
    creators: tuple[str, ...]
    tags: tuple[str, ...]
    state: ShelfState
    problem: bool
    grouped_by: str
    """Who put it there: `album`, `person` or `rule`; empty for a copy."""
    cover_url: str


async def list_members(tx: Tx, row_ids: Sequence[UUID]) -> dict[UUID, list[ShelfMember]]:
    """Return the members of all rows of a page, up to `MAX_MEMBERS` of each."""
    found = await descriptions.list_members(tx, row_ids, limit=MAX_MEMBERS)
    return {row_id: [_shown(member) for member in members] for row_id, members in found.items()}


def _shown(member: MemberRow) -> ShelfMember:
    return ShelfMember(
        id=member.id,
        title=member.title,
        kind=member.kind,
        type=member.type,
        size_bytes=member.size_bytes,
        file_count=member.file_count,
        sent_at=member.sent_at,
        channel_id=member.channel_id,
        channel_title=member.channel_title,
        creators=tuple(member.creators),
        tags=tuple(member.tags),
        state=member.state,
        problem=member.problem,
        grouped_by=member.grouped_by,
        cover_url=member.cover_url,
    )
