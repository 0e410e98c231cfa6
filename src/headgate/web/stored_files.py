"""What pages and the API answer with when stored content is asked for; one module for both."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from uuid import UUID

from fastapi import Request, Response

from headgate.domain.errors import NotFound
from headgate.domain.library.contents import Listing
from headgate.ingest.serving import downloads
from headgate.web.http.downloads import attachment, send, send_stream
from headgate.web.parts import Site

_PICTURE = re.compile(r"([0-9a-f]{64})\.(webp|jpg)", re.ASCII)


async def answer_file(site: Site, request: Request, item_id: UUID, file_id: UUID) -> Response:
    """Send a stored file, or a range of it."""
    async with site.transaction() as tx:
        download = await downloads.get_file(tx, site.parts.reader, item_id, file_id)
    return send(request, download)


async def answer_zip(site: Site, request: Request, item_id: UUID) -> Response:
    """Send all stored files of an item as one zip."""
    async with site.transaction() as tx:
        name, body = await downloads.get_zip(tx, site.parts.reader, item_id)
    return send_stream(request, body, name=name)


async def answer_entry(site: Site, request: Request, item_id: UUID, number: int) -> Response:
    """Send a file from inside the item's archive."""
    async with site.transaction() as tx:
        wish = await downloads.get_entry_wish(tx, item_id, number)
    if request.method == "HEAD":
        return Response(headers={"content-disposition": attachment(wish.name)})
    async with AsyncExitStack() as stack:
        download = await stack.enter_async_context(downloads.extract(site.parts.reader, wish))
        return send(request, download, stack=stack.pop_all())


async def answer_picture(site: Site, request: Request, name: str) -> Response:
    """Send a picture; its address stands for its content, so it may be kept for ever."""
    found = _PICTURE.fullmatch(name)
    if not found:
        raise NotFound("There is no such picture.")
    async with site.transaction() as tx:
        picture, download = await downloads.get_picture(tx, site.parts.reader, bytes.fromhex(found[1]))
    return send(request, download, media_type=picture.media_type, inline=True)


async def read_nested(site: Site, item_id: UUID, number: int) -> tuple[str, Listing]:
    """Return the name of an archive inside the archive, and what is in it."""
    async with site.transaction() as tx:
        wish = await downloads.get_entry_wish(tx, item_id, number)
    return wish.entry.path, await downloads.list_nested(site.parts.reader, wish)
