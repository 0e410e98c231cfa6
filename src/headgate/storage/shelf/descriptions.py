"""What rows of the shelf show beside their own columns: members, covers, and the names of things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.items import ItemKind
from headgate.domain.library.shelf_filters import ShelfFilters, ShelfState, TopicName
from headgate.domain.words.shelf_words import FilterNames
from headgate.storage.database import Tx
from headgate.storage.library.pictures import picture_url
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class RowDescription:
    """What a row shows beside its own columns."""

    id: UUID
    cover_sha256: bytes | None
    cover_type: str | None
    channel_ids: list[UUID] | None
    channel_titles: list[str] | None
    url: str

    @property
    def cover_url(self) -> str:
        return _url(self.cover_sha256, self.cover_type)


@dataclass(frozen=True)
class MemberRow:
    """An item as a member of a group, or as one of several copies."""

    row_id: UUID
    id: UUID
    kind: ItemKind
    type: str
    title: str
    size_bytes: int
    sent_at: datetime
    caught_at: datetime
    channel_id: UUID
    channel_title: str
    grouped_by: str
    """Who put it there: `album`, `person` or `rule`; empty for a copy."""
    state: ShelfState
    problem: bool
    creators: list[str]
    tags: list[str]
    cover_sha256: bytes | None
    cover_type: str | None
    file_count: int

    @property
    def cover_url(self) -> str:
        return _url(self.cover_sha256, self.cover_type)


@dataclass(frozen=True)
class _ChannelTitle:
    id: UUID
    title: str


@dataclass(frozen=True)
class _TopicTitle:
    channel_id: UUID
    key: str
    title: str


@dataclass(frozen=True)
class _LabelName:
    kind: str
    key: str
    name: str


async def describe_rows(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, RowDescription]:
    if not ids:
        return {}
    return {row.id: row for row in await tx.all(RowDescription, Q["describe_rows"], ids=list(ids))}


async def list_members(tx: Tx, ids: Sequence[UUID], *, limit: int) -> dict[UUID, list[MemberRow]]:
    """Return the members of rows, up to a number for each, in one statement."""
    found: dict[UUID, list[MemberRow]] = {row_id: [] for row_id in ids}
    if ids:
        for member in await tx.all(MemberRow, Q["list_members"], ids=list(ids), limit=limit):
            found[member.row_id].append(member)
    return found


async def name_filters(tx: Tx, filters: ShelfFilters) -> FilterNames:
    """Return what the ids and keys in filters are called."""
    channels = await tx.all(_ChannelTitle, Q["list_channel_titles"], ids=list(filters.channels))
    topics = await tx.all(
        _TopicTitle,
        Q["list_topic_titles"],
        channel_ids=[topic.channel_id for topic in filters.topics],
        keys=[topic.key for topic in filters.topics],
    )
    labels = await tx.all(
        _LabelName,
        Q["list_label_names"],
        kinds=["creator"] * len(filters.creators) + ["tag"] * len(filters.tags),
        keys=[*filters.creators, *filters.tags],
    )
    return FilterNames(
        channels={channel.id: channel.title for channel in channels},
        topics={TopicName(topic.channel_id, topic.key): topic.title for topic in topics},
        creators={label.key: label.name for label in labels if label.kind == "creator"},
        tags={label.key: label.name for label in labels if label.kind == "tag"},
    )


def _url(sha256: bytes | None, media_type: str | None) -> str:
    return picture_url(sha256, media_type) if sha256 and media_type else ""
