"""Which photos are wanted only because they show an item, though filters may keep them out of the library."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from headgate.domain.library.covers import POSTED, CoverFacts, list_covers
from headgate.storage.database import Tx
from headgate.storage.library.covers import list_surroundings

MAX_WANTED = 3
"""Photos that are fetched for one item: the best may turn out to be damaged."""


async def list_wanted_covers(tx: Tx, item_ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """Return photos that are wanted as the pictures of items: by item, the ids of sightings, the best first.

    Those that are stored or given up are not among them.
    """
    wanted: dict[UUID, list[UUID]] = {}
    for item_id, around in (await list_surroundings(tx, item_ids)).items():
        covers = list_covers(CoverFacts(title="", message=around.message, nearby=around.nearby))
        keys = dict.fromkeys(cover.key for cover in covers if cover.reason in POSTED)
        photos = [around.photos[key] for key in keys][:MAX_WANTED]
        missing = [photo.sighting_id for photo in photos if photo.state in ("listed", "wanted")]
        if missing and not any(photo.blob_id for photo in photos):
            wanted[item_id] = missing
    return wanted
