"""Adding pictures and files for messages; equal ones are stored once."""

from __future__ import annotations

from datetime import datetime

from headgate.domain.errors import UserError
from headgate.domain.file_types import bare_type, type_by_name
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.reminders.media import Media, upsert_media

MAX_MEDIA_BYTES = 50 * 1000 * 1000
MAX_NAME_LENGTH = 200
UNKNOWN_TYPE = "application/octet-stream"


async def add_media(
    tx: Tx, content: bytes, *, name: str, declared_type: str = "", ids: Ids, now: datetime
) -> Media:
    """Store a file, and return it, or the equal one that was there before.

    Its name says which type it is; what the sender declared counts only for names that say nothing.
    """
    name = _plain_name(name)
    if not content:
        raise UserError(f"{name!r} is empty.", remedy="Choose another file.", field="file")
    check_size(name, len(content))
    mime_type = type_by_name(name) or bare_type(declared_type) or UNKNOWN_TYPE
    return await upsert_media(tx, ids.new(), name=name, mime_type=mime_type, content=content, now=now)


def check_size(name: str, size_bytes: int | None) -> None:
    """Refuse a file that is too large; callers that know the size ask before they read it."""
    if size_bytes is not None and size_bytes > MAX_MEDIA_BYTES:
        raise UserError(
            f"{name!r} has {size_bytes / 1e6:.1f} MB; at most {MAX_MEDIA_BYTES / 1e6:.0f} MB can be sent.",
            remedy="Choose a smaller file.",
            field="file",
        )


def _plain_name(name: str) -> str:
    """Return a file's own name, whatever folder the sender had it in."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in last if sign.isprintable()).strip()[-MAX_NAME_LENGTH:] or "file"
