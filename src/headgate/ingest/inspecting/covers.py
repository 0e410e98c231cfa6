"""Finds a picture for an item: tries what could be one, the best first, until one can be made."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from headgate.domain.library.contents import ExtractionLimits, Listing
from headgate.domain.library.cover_names import MAX_VIDEO_BYTES
from headgate.domain.library.covers import (
    POSTED,
    ContentEntry,
    Cover,
    CoverFacts,
    CoverFile,
    CoverReason,
    list_covers,
)
from headgate.domain.library.inspections import VolumeFiles
from headgate.ingest.contents.archives import Archives
from headgate.ingest.inspecting.local_files import LocalFiles, Stored
from headgate.ingest.inspecting.previews import MadePreviews, NotMade, PreviewMaker
from headgate.kernel.logs import get_logger
from headgate.storage.blobs.store import ObjectDamaged, ObjectMissing
from headgate.storage.library.covers import NOTHING_NEARBY, Surroundings

log = get_logger("inspect")

MAX_TRIES = 6
"""Pictures that are tried for one item; each may take a minute."""
_LIMITS = ExtractionLimits(max_bytes=MAX_VIDEO_BYTES)


@dataclass(frozen=True)
class CoverSources:
    """All that the picture of an item can be made of."""

    title: str
    volumes: tuple[VolumeFiles, ...]
    places: tuple[Stored | None, ...]
    """The volumes as one archive."""
    listing: Listing
    surroundings: Surroundings = NOTHING_NEARBY

    def list_candidates(self) -> tuple[Cover, ...]:
        """Return what can be tried at the moment: only stored photos, files and what is inside them."""
        around = self.surroundings
        facts = CoverFacts(
            title=self.title,
            message=around.message,
            nearby=around.nearby,
            files=tuple(self._files()),
            entries=tuple(self._entries()),
        )
        return tuple(cover for cover in list_covers(facts) if self._is_stored(cover))

    def key(self, candidates: Sequence[Cover]) -> str:
        """Return what stands for the candidates and their contents: equal ones give equal pictures."""
        contents = [place.object_name if place else "" for place in self.places]
        photos = [photo.object_name for photo in self.surroundings.photos.values()]
        return hashlib.sha256(repr((candidates, contents, sorted(photos))).encode()).hexdigest()[:32]

    def find_entry(self, path: str) -> int | None:
        """Return the number of the entry with a path; the first of several."""
        return next(
            (entry.number for entry in self.listing.entries if entry.path == path and not entry.is_directory),
            None,
        )

    def _files(self) -> list[CoverFile]:
        if not self.volumes:
            return []
        first = self.volumes[0].best
        return [CoverFile(str(first.sighting_id), first.file_name, first.size_bytes)]

    def _entries(self) -> list[ContentEntry]:
        key = str(self.volumes[0].best.sighting_id) if self.volumes else ""
        return [
            ContentEntry(key, entry.path, entry.size_bytes)
            for entry in self.listing.entries
            if entry.size_bytes and not entry.is_directory and not entry.is_encrypted and not entry.is_link
        ]

    def _is_stored(self, cover: Cover) -> bool:
        if cover.reason in POSTED:
            photo = self.surroundings.photos.get(cover.key)
            return photo is not None and photo.blob_id is not None
        return any(place is not None for place in self.places)


@dataclass(frozen=True)
class FoundPicture:
    """A picture that could be made, and of what."""

    reason: CoverReason
    previews: MadePreviews


@dataclass(frozen=True)
class CoverFinder:
    """Makes the picture of an item."""

    files: LocalFiles
    archives: Archives
    previews: PreviewMaker

    async def find(
        self, sources: CoverSources, candidates: Sequence[Cover], folder: Path
    ) -> FoundPicture | None:
        """Return the first picture that can be made; its files are in the folder."""
        possible = [cover for cover in candidates if self.previews.can_make(cover.reason)]
        for place, cover in enumerate(possible[:MAX_TRIES]):
            output = folder / str(place)
            output.mkdir()
            made = await self._try(sources, cover, output)
            if isinstance(made, MadePreviews):
                return FoundPicture(cover.reason, made)
            log.debug("no picture could be made", reason=cover.reason, path=cover.path, why=made.reason)
        return None

    async def _try(self, sources: CoverSources, cover: Cover, folder: Path) -> MadePreviews | NotMade:
        try:
            async with self._open(sources, cover, folder) as source:
                if source is None:
                    return NotMade("it cannot be extracted")
                name = cover.path or sources.volumes[0].best.file_name
                return await self.previews.make(cover.reason, source, name=name, folder=folder)
        except (ObjectMissing, ObjectDamaged) as error:
            return NotMade(str(error))

    @asynccontextmanager
    async def _open(
        self, sources: CoverSources, cover: Cover, folder: Path
    ) -> AsyncGenerator[Path | None, None]:
        """Give the file of which the picture is made: a photo, a file of the item, or an extracted one."""
        if cover.reason in POSTED:
            async with self.files.open([sources.surroundings.photos[cover.key]]) as (photo,):
                yield photo
            return
        async with self.files.open(sources.places) as volumes:
            if not cover.path:
                yield next((path for path in volumes if path), None)
                return
            number = sources.find_entry(cover.path)
            extracted = folder / "extracted"
            if number is None:
                yield None
                return
            done = await self.archives.extract(volumes, number, extracted, limits=_LIMITS)
            try:
                yield extracted if done.problem is None else None
            finally:
                extracted.unlink(missing_ok=True)
