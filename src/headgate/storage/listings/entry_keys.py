"""Keys of entries that change: what is known of a listing by link and title, and giving it its new key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Namesake:
    """An entry that is known by its key, or by what else it says."""

    key: str
    identity: int
    title: str
    url: str
    published_at: datetime | None
    is_release: bool


async def list_namesakes(
    tx: Tx, channel_id: UUID, *, keys: Sequence[str], titles: Sequence[str], identities: Sequence[int]
) -> list[Namesake]:
    """Return the entries of a listing that have one of these keys, titles or identities."""
    return await tx.all(
        Namesake,
        Q["list_namesakes"],
        channel_id=channel_id,
        keys=list(keys),
        titles=list(titles),
        identities=list(identities),
    )


async def rename_entries(tx: Tx, channel_id: UUID, renamed: Mapping[str, str], *, now: datetime) -> None:
    """Give known entries their new keys (new key: old key), and note that the listing changes them."""
    keys = {"old_keys": list(renamed.values()), "new_keys": list(renamed)}
    await tx.execute(Q["rename_releases"], channel_id=channel_id, **keys)
    await tx.execute(Q["rename_sightings"], channel_id=channel_id, **keys)
    await tx.execute(Q["rename_messages"], channel_id=channel_id, **keys)
    await tx.execute(Q["note_key_changes"], channel_id=channel_id, now=now)
