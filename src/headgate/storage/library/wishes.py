"""Which files are to be downloaded, as settings and people say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from headgate.domain.file_types import PICTURE_ENDINGS
from headgate.domain.library.fetching import FetchRule
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


async def wish_files(
    tx: Tx,
    channel_id: UUID,
    sighting_ids: Sequence[UUID],
    *,
    base: FetchRule,
    topics: Mapping[str, FetchRule],
    now: datetime,
) -> int:
    """Make those of the files wanted that settings want and that have no content yet; returns how many."""
    return await tx.value(
        Q["wish_files"], channel_id=channel_id, ids=list(sighting_ids), now=now, **_rules(base, topics)
    )


async def withdraw_files(
    tx: Tx, sighting_ids: Sequence[UUID], *, base: FetchRule, topics: Mapping[str, FetchRule]
) -> int:
    """Forget wishes that settings no longer have and nobody asked for; returns how many."""
    return await tx.execute(Q["withdraw_files"], ids=list(sighting_ids), **_rules(base, topics))


def _rules(base: FetchRule, topics: Mapping[str, FetchRule]) -> dict[str, Any]:
    return {
        "base_fetch": base.what,
        "base_limit": base.max_bytes,
        "topics": list(topics),
        "fetches": [rule.what for rule in topics.values()],
        "limits": [rule.max_bytes for rule in topics.values()],
        "pictures": list(PICTURE_ENDINGS),
    }
