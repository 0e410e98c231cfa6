"""Pictures and files to be sent."""

from __future__ import annotations

from uuid import UUID

from fastapi import UploadFile

from headgate.outflow.reminders.media import MAX_MEDIA_BYTES, add_media, check_size
from headgate.storage.reminders.media import Media, get_media
from headgate.web.door import Routes, scope
from headgate.web.errors import not_found
from headgate.web.parts import CurrentSite
from headgate.web.typed import AROUND_A_FILE_BYTES

routes = Routes("/api/v1", in_schema=True)


@routes.post(
    "/media",
    door=scope("write"),
    status_code=201,
    tags=["reminders"],
    largest_body_bytes=MAX_MEDIA_BYTES + AROUND_A_FILE_BYTES,
)
async def add(site: CurrentSite, file: UploadFile) -> Media:
    """Store a file for messages, sent as the form field `file`; equal files are stored once."""
    name = file.filename or "file"
    check_size(name, file.size)
    content = await file.read()
    async with site.transaction() as tx:
        return await add_media(
            tx,
            content,
            name=name,
            declared_type=file.content_type or "",
            ids=site.parts.ids,
            now=site.parts.clock.now(),
        )


@routes.get("/media/{media_id}", door=scope("read"), tags=["reminders"])
async def get(site: CurrentSite, media_id: UUID) -> Media:
    """Show the details of a file."""
    async with site.transaction() as tx:
        stored = await get_media(tx, media_id)
    if stored is None:
        raise not_found("There is no such file.")
    return stored
