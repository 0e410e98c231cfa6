"""Pictures and files to be sent; equal ones are one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

LARGEST_BYTES = 50 * 1000 * 1000
LONGEST_NAME = 200


@dataclass(frozen=True)
class Media:
    """What is known of a picture or file, without its content."""

    id: UUID
    name: str
    mime_type: str
    size_bytes: int
    created_at: datetime


async def add_media(
    tx: Tx, media_id: UUID, *, name: str, mime_type: str, content: bytes, now: datetime
) -> Media:
    """Store a file, and return it, or the equal one that was there before."""
    if not content:
        raise UserError(f"{name!r} is empty.", remedy="Choose another file.")
    if len(content) > LARGEST_BYTES:
        raise too_large(name, len(content))
    (stored,) = await tx.all(
        Media,
        Q["upsert_media"],
        id=media_id,
        name=_plain_name(name),
        mime_type=mime_type,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).digest(),
        content=content,
        now=now,
    )
    return stored


def too_large(name: str, size_bytes: int) -> UserError:
    return UserError(
        f"{name!r} has {size_bytes / 1e6:.1f} MB; at most {LARGEST_BYTES / 1e6:.0f} MB can be sent.",
        remedy="Choose a smaller file.",
    )


def _plain_name(name: str) -> str:
    """Return a file's own name, whatever folder the sender had it in."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in last if sign.isprintable()).strip()[-LONGEST_NAME:] or "file"


async def list_media(tx: Tx, media_ids: Sequence[UUID]) -> list[Media]:
    """Return those of them that are there."""
    return await tx.all(Media, Q["list_media"], ids=list(media_ids))


async def get_media(tx: Tx, media_id: UUID) -> Media | None:
    found = await list_media(tx, [media_id])
    return found[0] if found else None


async def get_content(tx: Tx, media_id: UUID) -> bytes | None:
    return await tx.value(Q["get_content"], id=media_id)


async def delete_unused(tx: Tx, *, before: datetime) -> int:
    """Delete what is older and no reminder or run sends; returns how many."""
    return await tx.execute(Q["delete_unused"], before=before)
