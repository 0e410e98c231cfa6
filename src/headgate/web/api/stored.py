"""What is stored of items: files, whole items, what is inside archives, pictures."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import BaseModel

from headgate.catalogue.stored import MAX_ROWS, ContentsPage, list_contents
from headgate.domain.library.contents import ArchiveEntry
from headgate.domain.text import storable, typed_text
from headgate.domain.words.contents import problem_text
from headgate.ingest.serving.downloads import MAX_NESTED_ENTRIES
from headgate.web import stored_files
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)

_BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "The content."}
}
_MAX_PATH_LENGTH = 4_096


class NestedEntry(BaseModel):
    """A file or folder of an archive inside the archive."""

    path: str
    size_bytes: int | None
    is_folder: bool
    is_encrypted: bool


class NestedAnswer(BaseModel):
    """What is inside an archive inside the archive."""

    path: str
    format: str | None
    problems: list[str]
    """What is wrong with it, in words."""
    entries: list[NestedEntry]
    has_more: bool


@routes.get("/items/{item_id}/files/{file_id}", door=scope("read"), tags=["library"], responses=_BINARY)
async def download_file(site: CurrentSite, request: Request, item_id: UUID, file_id: UUID) -> Response:
    """Download a stored file of an item, or a range of it."""
    return await stored_files.answer_file(site, request, item_id, file_id)


@routes.get("/items/{item_id}/download", door=scope("read"), tags=["library"], responses=_BINARY)
async def download_item(site: CurrentSite, request: Request, item_id: UUID) -> Response:
    """Download all stored files of an item as one zip, uncompressed."""
    return await stored_files.answer_zip(site, request, item_id)


@routes.get("/items/{item_id}/contents", door=scope("read"), tags=["library"])
async def show_contents(
    site: CurrentSite,
    item_id: UUID,
    under: Annotated[str, Query(max_length=_MAX_PATH_LENGTH)] = "",
    search: str = "",
    skip: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = MAX_ROWS,
) -> ContentsPage:
    """List a folder inside the archive, or the files below it whose path contains `search`."""
    async with site.transaction() as tx:
        return await list_contents(
            tx, item_id, under=storable(under), search=typed_text(search), skip=skip, limit=limit
        )


@routes.get("/items/{item_id}/contents/{number}", door=scope("read"), tags=["library"], responses=_BINARY)
async def download_entry(site: CurrentSite, request: Request, item_id: UUID, number: int) -> Response:
    """Extract and download a file from inside the archive, by its number in the listing."""
    return await stored_files.answer_entry(site, request, item_id, number)


@routes.get("/items/{item_id}/contents/{number}/contents", door=scope("read"), tags=["library"])
async def show_nested(site: CurrentSite, item_id: UUID, number: int) -> NestedAnswer:
    """List an archive inside the archive."""
    path, listing = await stored_files.read_nested(site, item_id, number)
    return NestedAnswer(
        path=path,
        format=listing.format,
        problems=[problem_text(problem) for problem in listing.problems],
        entries=[_nested(entry) for entry in listing.entries[:MAX_NESTED_ENTRIES]],
        has_more=len(listing.entries) > MAX_NESTED_ENTRIES,
    )


@routes.get("/pictures/{name}", door=scope("read"), tags=["library"], responses=_BINARY)
async def show_picture(site: CurrentSite, request: Request, name: str) -> Response:
    """Download a picture of an item; its address stands for its content and never shows another."""
    return await stored_files.answer_picture(site, request, name)


def _nested(entry: ArchiveEntry) -> NestedEntry:
    return NestedEntry(
        path=entry.path,
        size_bytes=entry.size_bytes,
        is_folder=entry.is_directory,
        is_encrypted=entry.is_encrypted,
    )
