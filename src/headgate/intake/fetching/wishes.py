"""The one place where settings make files wanted, whichever way their messages came."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headgate.domain.streams.rules import ChannelRules
from headgate.storage.database import Tx
from headgate.storage.library import wishes


async def wish_files(
    tx: Tx, channel_id: UUID, rules: ChannelRules, sighting_ids: Sequence[UUID], *, now: datetime
) -> int:
    """Make the content of kept files wanted as the rules say; returns how many are wanted anew.

    Call it after sightings have their verdict and item, and after items are locked. Ids of links, posts and
    rejected files do no harm. Where nothing is downloaded this costs nothing.
    """
    if not sighting_ids or not rules.fetches:
        return 0
    topics = {key: hashed.fetch for key, hashed in rules.topics.items()}
    return await wishes.wish_files(
        tx, channel_id, sighting_ids, base=rules.base.fetch, topics=topics, now=now
    )


async def withdraw_files(tx: Tx, rules: ChannelRules, sighting_ids: Sequence[UUID]) -> int:
    """Forget the wishes for files that the rules no longer want, unless a person asked for them."""
    if not sighting_ids:
        return 0
    topics = {key: hashed.fetch for key, hashed in rules.topics.items()}
    return await wishes.withdraw_files(tx, sighting_ids, base=rules.base.fetch, topics=topics)
