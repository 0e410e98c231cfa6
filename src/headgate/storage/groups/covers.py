"""The covers that people chose for groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.library.pictures import NewPicture, picture_url
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class GroupPicture:
    """The cover of a group in one width and format."""

    group_id: UUID
    width_px: int
    height_px: int
    media_type: str
    sha256: bytes
    size_bytes: int
    object_name: str

    @property
    def url(self) -> str:
        """The address, which never shows anything else."""
        return picture_url(self.sha256, self.media_type)


async def delete_cover(tx: Tx, group_id: UUID) -> bool:
    """Leave the cover to the members; false if no person chose one."""
    return await tx.execute(Q["delete_cover"], group_id=group_id) > 0


async def copy_cover(tx: Tx, group_id: UUID, item_id: UUID) -> int:
    """Show a group by the picture of an item; returns in how many sizes there is one."""
    await delete_cover(tx, group_id)
    return await tx.execute(Q["copy_cover"], group_id=group_id, item_id=item_id)


async def replace_cover(tx: Tx, group_id: UUID, pictures: Sequence[NewPicture]) -> None:
    await delete_cover(tx, group_id)
    await tx.execute(
        Q["insert_cover"],
        group_id=group_id,
        widths=[picture.width_px for picture in pictures],
        heights=[picture.height_px for picture in pictures],
        media_types=[picture.media_type for picture in pictures],
        blob_ids=[picture.blob_id for picture in pictures],
    )


async def list_covers(tx: Tx, group_ids: Collection[UUID]) -> dict[UUID, list[GroupPicture]]:
    """Return the covers that people chose, the smallest first."""
    found: dict[UUID, list[GroupPicture]] = {}
    for picture in await tx.all(GroupPicture, Q["list_covers"], group_ids=sorted(group_ids)):
        found.setdefault(picture.group_id, []).append(picture)
    return found
