"""The one place where a deletion on the platform takes effect, whoever noticed it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.storage.catalogue.sightings import mark_deleted
from headgate.storage.database import Tx
from headgate.storage.library.files import mark_gone


async def delete_messages(tx: Tx, channel_id: UUID, message_keys: Sequence[str], *, now: datetime) -> int:
    """Note that messages were deleted: what was caught stays, what was not fetched is gone.

    The caller holds the stream. Returns how many sightings were not known to be deleted.
    """
    deleted = await mark_deleted(tx, channel_id, message_keys, now=now)
    if deleted:
        await mark_gone(tx, channel_id, message_keys)
    return deleted
