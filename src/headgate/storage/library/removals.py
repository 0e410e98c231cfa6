"""Asking for files, giving their content up, and removing things for ever, for one or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.library.fetch_lines import line_up
from headgate.storage.library.inspections import note_inspection
from headgate.storage.queries import load_queries
from headgate.storage.search.queue import note_messages
from headgate.storage.shelf.touched import touch_albums, touch_items

Q = load_queries(__name__)


@dataclass(frozen=True)
class Freed:
    """How many things and files a removal concerns, and what it frees."""

    items: int
    files: int
    bytes: int
    """Of content that nothing else uses; it is deleted after the grace period."""


async def lock_items(tx: Tx, item_ids: Sequence[UUID]) -> list[UUID]:
    """Lock items that were not removed, in the order of their ids."""
    return await tx.column(Q["lock_items"], ids=list(item_ids))


async def ask_files(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> int:
    """Want all files of locked items before everything else; returns how many were not stored."""
    touch_items(tx, item_ids)
    asked = await tx.column(Q["ask_files"], ids=list(item_ids), now=now)
    await line_up(tx, asked, now=now)
    return len(asked)


async def retry_files(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> int:
    """Try the failed and waiting files of locked items at once; returns how many."""
    touch_items(tx, item_ids)
    retried = await tx.column(Q["retry_files"], ids=list(item_ids), now=now)
    await line_up(tx, retried, now=now)
    return len(retried)


async def drop_files(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> Freed:
    """Give the content of locked items up; their rows stay, and nothing is fetched unless asked for."""
    held = await _drop(tx, item_ids)
    await note_inspection(tx, item_ids, now)
    return Freed(len(item_ids), len(held), await tx.value(Q["sum_unused"], ids=held))


async def remove_items(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> Freed:
    """Remove locked items for ever."""
    held = await _drop(tx, item_ids)
    pictures: list[UUID] = await tx.column(Q["list_pictures"], ids=list(item_ids))
    await tx.execute(Q["remove_items"], ids=list(item_ids), now=now)
    freed = await tx.value(Q["sum_unused"], ids=[*held, *pictures])
    return Freed(len(item_ids), len(held), freed)


async def _drop(tx: Tx, item_ids: Sequence[UUID]) -> list[UUID]:
    """Give up all files; returns the content that they had."""
    touch_items(tx, item_ids)
    contents: list[UUID | None] = await tx.column(Q["lock_contents"], ids=list(item_ids))
    await tx.execute(Q["drop_files"], ids=list(item_ids))
    return [blob_id for blob_id in contents if blob_id is not None]


async def forget_words(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> None:
    """Forget what messages said, and who sent them; no album is named by it any more."""
    albums = await tx.column(Q["list_albums"], channel_id=channel_id, message_keys=list(message_keys))
    touch_albums(tx, [(channel_id, album) for album in albums])
    await tx.execute(Q["forget_words"], channel_id=channel_id, message_keys=list(message_keys))
    await note_messages(tx, channel_id, message_keys)


async def list_deleted_items(tx: Tx, channel_id: UUID, message_keys: Sequence[str]) -> list[UUID]:
    """Return the items of deleted messages that no other message holds."""
    return await tx.column(Q["list_deleted_items"], channel_id=channel_id, message_keys=list(message_keys))
