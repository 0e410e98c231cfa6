"""Which photos are wanted only because they show an item, though filters may keep them out of the library."""

from __future__ import annotations

from uuid import UUID

from headgate.domain.library.covers import POSTED, CoverFacts, list_covers
from headgate.storage.library.covers import Surroundings

MAX_WANTED = 3
"""Photos that are fetched for one item: the best may turn out to be damaged."""


def pick_wanted(around: Surroundings) -> list[UUID]:
    """Return the photos to fetch for one item; none if one of them is stored, or all are given up."""
    covers = list_covers(CoverFacts(title="", message=around.message, nearby=around.nearby))
    keys = dict.fromkeys(cover.key for cover in covers if cover.reason in POSTED)
    photos = [around.photos[key] for key in keys][:MAX_WANTED]
    if any(photo.blob_id for photo in photos):
        return []
    return [photo.sighting_id for photo in photos if photo.state in ("listed", "wanted")]
