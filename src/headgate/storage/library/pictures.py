"""The pictures of items, stored as blobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.shelf.touched import queue_items

Q = load_queries(__name__)

_ENDINGS = {"image/webp": "webp", "image/jpeg": "jpg"}


@dataclass(frozen=True)
class NewPicture:
    """One width and format of a picture whose content is stored."""

    width_px: int
    height_px: int
    media_type: str
    blob_id: UUID


@dataclass(frozen=True)
class Picture:
    """A picture of an item in one width and format."""

    item_id: UUID
    """The group, if only that shows it."""
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


def picture_url(sha256: bytes, media_type: str) -> str:
    """Return the address of a picture with this content."""
    return f"/api/v1/pictures/{sha256.hex()}.{_ENDINGS.get(media_type, 'bin')}"


async def replace_pictures(
    tx: Tx, item_id: UUID, pictures: Sequence[NewPicture], *, key: str, source: str, colour: str
) -> None:
    """Give an item another picture, or none."""
    await queue_items(tx, [item_id])
    await tx.execute(Q["note_picture"], item_id=item_id, key=key, source=source, colour=colour)
    await tx.execute(Q["delete_pictures"], item_id=item_id)
    if pictures:
        await tx.execute(
            Q["insert_pictures"],
            item_id=item_id,
            widths=[picture.width_px for picture in pictures],
            heights=[picture.height_px for picture in pictures],
            media_types=[picture.media_type for picture in pictures],
            blob_ids=[picture.blob_id for picture in pictures],
        )


async def list_pictures(tx: Tx, item_ids: Iterable[UUID]) -> dict[UUID, list[Picture]]:
    """Return the pictures of items, the smallest first."""
    found: dict[UUID, list[Picture]] = {}
    for picture in await tx.all(Picture, Q["list_pictures"], item_ids=list(item_ids)):
        found.setdefault(picture.item_id, []).append(picture)
    return found


async def find_picture(tx: Tx, sha256: bytes) -> Picture | None:
    return await tx.one(Picture, Q["find_picture"], sha256=sha256)
