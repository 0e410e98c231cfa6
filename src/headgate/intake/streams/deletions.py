"""The one place where a deletion on the platform takes effect, whoever noticed it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.streams.rules import ChannelRules
from headgate.storage.catalogue.sightings import mark_deleted
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.library import removals
from headgate.storage.library.files import mark_gone


async def delete_messages(
    tx: Tx, channel_id: UUID, message_keys: Sequence[str], *, rules: ChannelRules, now: datetime
) -> int:
    """Note that messages were deleted: what was not fetched is gone, what was caught is kept or forgotten.

    The caller holds the stream. Returns how many sightings were not known to be deleted.
    """
    deleted = await mark_deleted(tx, channel_id, message_keys, now=now)
    if not deleted:
        return 0
    if rules.on_delete == "forget_all":
        found = await removals.list_deleted_items(tx, channel_id, message_keys)
        await removals.remove_items(tx, await removals.lock_items(tx, found), now=now)
        await publish(tx, Event("items"))
    await mark_gone(tx, channel_id, message_keys)
    if rules.on_delete != "keep":
        await removals.forget_words(tx, channel_id, message_keys)
    return deleted
