"""The newest chapters of the series that a user follows, as the library shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class FollowedChapter:
    """A chapter of a followed series, and where it can be read."""

    id: UUID
    series_id: UUID
    series_title: str
    number: str
    volume: str
    title: str
    published_at: datetime | None
    seen_at: datetime
    url: str
    source: str
    """The source that the address is of."""


@dataclass(frozen=True)
class ChapterCursor:
    """A place in the order of chapters."""

    seen_at: datetime
    id: UUID


async def list_newest(
    tx: Tx, user_id: UUID, *, below: ChapterCursor | None = None, limit: int
) -> list[FollowedChapter]:
    """Return chapters in the order in which they were found, the newest first."""
    place = {"id": below.id, "seen_at": below.seen_at} if below else {"id": None, "seen_at": None}
    return await tx.all(FollowedChapter, Q["list_newest"], user_id=user_id, limit=limit, **place)
