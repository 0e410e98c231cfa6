"""What accounts have uploaded, and where the files are that they upload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Uploaded:
    """A file of which the platform keeps a copy."""

    media_id: UUID
    handle: str
    uploaded_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True)
class MediaContent:
    """A file to upload: its bytes, or a range of a stored object."""

    name: str
    mime_type: str
    size_bytes: int
    content: bytes | None
    offset_bytes: int
    object_name: str
    """Empty if nothing is stored any more."""


@dataclass(frozen=True)
class StoredPiece:
    """A stored file, or a piece of one, that is to be sent."""

    name: str
    mime_type: str
    size_bytes: int
    sha256: bytes
    """Of the whole file."""
    blob_id: UUID
    offset_bytes: int


@dataclass(frozen=True)
class _KnownPiece(StoredPiece):
    id: UUID


async def list_uploads(tx: Tx, account_id: UUID, media_ids: Sequence[UUID]) -> dict[UUID, Uploaded]:
    """Return the handles of some media, lapsed ones too."""
    rows = await tx.all(Uploaded, Q["list_uploads"], account_id=account_id, media_ids=list(media_ids))
    return {row.media_id: row for row in rows}


async def put_upload(tx: Tx, account_id: UUID, uploaded: Uploaded) -> None:
    await tx.execute(
        Q["put_upload"],
        account_id=account_id,
        media_id=uploaded.media_id,
        handle=uploaded.handle,
        now=uploaded.uploaded_at,
        expires_at=uploaded.expires_at,
    )


async def forget_upload(tx: Tx, account_id: UUID, uploaded: Uploaded) -> None:
    await tx.execute(
        Q["forget_upload"], account_id=account_id, media_id=uploaded.media_id, handle=uploaded.handle
    )


async def get_content(tx: Tx, media_id: UUID) -> MediaContent | None:
    return await tx.one(MediaContent, Q["get_content"], media_id=media_id)


async def upsert_pieces(tx: Tx, pieces: Sequence[StoredPiece], *, ids: Ids, now: datetime) -> list[UUID]:
    """Note pieces that are about to be sent, and return their ids in the same order."""
    known = await tx.all(
        _KnownPiece,
        Q["upsert_pieces"],
        ids=[ids.new() for _ in pieces],
        names=[piece.name for piece in pieces],
        mime_types=[piece.mime_type for piece in pieces],
        sizes=[piece.size_bytes for piece in pieces],
        hashes=[piece.sha256 for piece in pieces],
        blob_ids=[piece.blob_id for piece in pieces],
        offsets=[piece.offset_bytes for piece in pieces],
        now=now,
    )
    by_place = {_place(piece): piece.id for piece in known}
    return [by_place[_place(piece)] for piece in pieces]


def _place(piece: StoredPiece) -> tuple[bytes, str, str, int, int]:
    return piece.sha256, piece.name, piece.mime_type, piece.offset_bytes, piece.size_bytes
