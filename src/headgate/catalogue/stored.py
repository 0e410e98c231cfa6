"""What is stored of an item, for people: its files, what is inside, what is wrong, and its picture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound
from headgate.domain.library.inspections import FileState, InspectionState, VolumeFiles, arrange_volumes
from headgate.domain.text import containing
from headgate.domain.words.contents import problem_text
from headgate.domain.words.file_words import DAMAGED, absence_text, no_room_text
from headgate.domain.words.inspection_words import inspection_text, remedy_text
from headgate.storage.database import Tx
from headgate.storage.library import contents
from headgate.storage.library.contents import ContentRow
from headgate.storage.library.downloads import DownloadState, list_states
from headgate.storage.library.inspections import Inspection, get_inspection, list_item_files
from headgate.storage.library.pictures import Picture, list_pictures

MAX_ROWS = 200
"""Of one folder, or of one search, in one answer."""


@dataclass(frozen=True)
class ShownFile:
    """A file of an item as it is shown: one for each volume, however many copies there are."""

    id: UUID
    name: str
    size_bytes: int
    state: FileState
    sha256: str
    """Of the stored content; empty if there is none."""
    copies: int
    stored_at: datetime | None = None
    running: bool = False
    """It is being downloaded."""
    reason: str = ""
    """Why its content is not there; empty if it is, is on its way, or only waits for its turn."""


@dataclass(frozen=True)
class ShownContents:
    """What came of looking inside."""

    state: InspectionState
    state_text: str
    problems: list[str]
    """What is wrong, in words."""
    remedy: str
    format: str
    entry_count: int
    unpacked_bytes: int
    proven_total: int | None
    """How many volumes there are, where their headers say so."""
    inspected_at: datetime | None
    waiting: bool
    """The files have changed, and are about to be looked into again."""
    waiting_reason: str = ""
    """Why that has to wait; empty if it only waits for its turn."""


@dataclass(frozen=True)
class ShownPicture:
    """A picture of an item in one width; its address never shows anything else."""

    url: str
    width_px: int
    height_px: int
    media_type: str


@dataclass(frozen=True)
class StoredDetails:
    """All that is stored of an item."""

    files: list[ShownFile]
    contents: ShownContents | None
    pictures: list[ShownPicture]
    picture_source: str
    picture_colour: str

    @property
    def stored(self) -> list[ShownFile]:
        return [file for file in self.files if file.state == "stored"]

    @property
    def stored_bytes(self) -> int:
        return sum(file.size_bytes for file in self.stored)

    @property
    def has_tree(self) -> bool:
        return self.contents is not None and self.contents.entry_count > 0


@dataclass(frozen=True)
class ContentsPage:
    """Some of what is inside: a folder, or what a search found."""

    under: str
    search: str
    entries: list[ContentRow]
    next: int | None
    """Where the next page begins, as `skip`."""


async def show_stored(tx: Tx, item_id: UUID) -> StoredDetails:
    """Return the files, contents and pictures of an item."""
    files = arrange_volumes(await list_item_files(tx, item_id))
    inspection = await get_inspection(tx, item_id)
    pictures = (await list_pictures(tx, [item_id])).get(item_id, [])
    downloads = await list_states(tx, [volume.best.sighting_id for volume in files])
    return StoredDetails(
        files=[_shown_file(volume, downloads.get(volume.best.sighting_id)) for volume in files],
        contents=_shown_contents(inspection) if inspection else None,
        pictures=[shown_picture(picture) for picture in pictures],
        picture_source=inspection.picture_source if inspection else "",
        picture_colour=inspection.picture_colour if inspection else "",
    )


async def list_contents(
    tx: Tx, item_id: UUID, *, under: str = "", search: str = "", skip: int = 0, limit: int = MAX_ROWS
) -> ContentsPage:
    """Return what is directly in a folder, or the files below it whose path contains some words."""
    if await get_inspection(tx, item_id) is None:
        raise NotFound("Nothing is known of what is inside this item.")
    folder = f"{under.strip('/')}/" if under.strip("/") else ""
    if search:
        pattern = containing(search) or "%"
        found = await contents.search_entries(
            tx, item_id, pattern=pattern, under=folder, skip=skip, limit=limit + 1
        )
    else:
        found = await contents.list_folder(tx, item_id, under=folder, skip=skip, limit=limit + 1)
    following = skip + limit if len(found) > limit else None
    return ContentsPage(folder, search, found[:limit], following)


def shown_picture(picture: Picture) -> ShownPicture:
    return ShownPicture(picture.url, picture.width_px, picture.height_px, picture.media_type)


def _shown_file(volume: VolumeFiles, download: DownloadState | None) -> ShownFile:
    file = volume.best
    # A stored file whose object is damaged has no content to offer.
    damaged = file.state == "stored" and file.blob_id is None
    state: FileState = "failed" if damaged else file.state
    return ShownFile(
        id=file.sighting_id,
        name=file.file_name,
        size_bytes=file.size_bytes,
        state=state,
        sha256=file.sha256.hex() if file.sha256 else "",
        copies=len(volume.copies),
        stored_at=file.stored_at if state == "stored" else None,
        running=download is not None and download.running,
        reason=DAMAGED if damaged else _absence(state, download),
    )


def _absence(state: FileState, download: DownloadState | None) -> str:
    if download is None:
        return absence_text(state)
    if download.running:
        return ""
    needs_bytes = download.needs_bytes if download.wait_reason == "room" else 0
    return absence_text(state, needs_bytes=needs_bytes, error_message=download.error_message)


def _shown_contents(inspection: Inspection) -> ShownContents:
    return ShownContents(
        state=inspection.state,
        state_text=inspection_text(inspection.state),
        problems=[problem_text(problem) for problem in inspection.problems],
        remedy=remedy_text(inspection.state),
        format=inspection.format,
        entry_count=inspection.entry_count,
        unpacked_bytes=inspection.unpacked_bytes,
        proven_total=inspection.proven_total,
        inspected_at=inspection.inspected_at,
        waiting=inspection.due_at is not None,
        waiting_reason=no_room_text(inspection.needs_bytes) if inspection.needs_bytes else "",
    )
