"""The kind `inspect`: looks into an item's stored files, outside of transactions, and stores what it found.

A result counts only if the files have not changed since the look began; otherwise the item is still due.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.catalogue.covers import pick_wanted
from headgate.domain.library.contents import Listing
from headgate.domain.library.inspections import (
    ItemFile,
    VolumeFiles,
    arrange_volumes,
    judge_problems,
    may_hold_contents,
    place_volumes,
)
from headgate.ingest.contents.archives import Archives
from headgate.ingest.inspecting.covers import CoverFinder, CoverSources, FoundPicture
from headgate.ingest.inspecting.local_files import LocalFiles
from headgate.ingest.inspecting.picture_blobs import PictureBlobs
from headgate.ingest.inspecting.proofs import Proof, prove_volumes
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.storage.blobs.room import NoRoom
from headgate.storage.blobs.store import DiskFull, ObjectDamaged, ObjectMissing, StoreAway
from headgate.storage.catalogue.items import get_item
from headgate.storage.catalogue.sets import note_evidence, reassemble_items
from headgate.storage.database import Database, Tx
from headgate.storage.events import Event, publish
from headgate.storage.library import inspections
from headgate.storage.library.covers import NOTHING_NEARBY, Surroundings, list_surroundings, want_covers
from headgate.storage.library.damage import condemn_blobs
from headgate.storage.library.inspections import Inspected, Inspection
from headgate.storage.library.pictures import NewPicture, replace_pictures
from headgate.storage.streams.streams import lock_stream

KIND = "inspect"
ROOM_REST = timedelta(minutes=1)
"""Until room is asked for again that there was not."""
AT_ONCE = 4
"""Over all workers: more would only wait for the sandbox."""


class InspectionRows:
    """Inspections as the work of the kind `inspect`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await inspections.list_due_inspections(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await inspections.set_inspection_due(tx, key, due_at=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await inspections.set_inspection_due(tx, key, due_at=now)


@dataclass(frozen=True)
class Wish:
    """An item to look into, as it was when the look began."""

    seen: Inspection
    title: str
    channel_id: UUID
    volumes: tuple[VolumeFiles, ...]
    surroundings: Surroundings

    @property
    def places(self) -> tuple[ItemFile | None, ...]:
        return place_volumes(self.volumes)

    @property
    def size_bytes(self) -> int:
        return sum(place.size_bytes for place in self.places if place)

    @property
    def name(self) -> str:
        return self.volumes[0].best.file_name if self.volumes else ""


@dataclass(frozen=True)
class PictureChange:
    """Another picture for an item, or none; a key that stands for what was tried."""

    key: str
    found: FoundPicture | None = None
    stored: tuple[NewPicture, ...] = ()


@dataclass
class Inspector:
    """Looks into items."""

    clock: Clock
    files: LocalFiles
    archives: Archives
    covers: CoverFinder
    blobs: PictureBlobs

    def kind(self) -> Kind[UUID]:
        return Kind(
            name=KIND,
            parse_key=UUID,
            handle=self.inspect,
            rows=InspectionRows(),
            runner="inspect",
            concurrency=AT_ONCE,
        )

    async def inspect(self, job: Job[UUID]) -> None:
        """Look into one item, if that is due."""
        wish = await self._load(job.database, job.key)
        if wish is None:
            return
        try:
            result = await self._look(job.database, wish)
            async with self._picture(wish, result.listing) as picture, job.finish() as tx:
                await self._settle(tx, wish, result, picture)
        except (ObjectMissing, ObjectDamaged) as error:
            await self._give_up_objects(job, wish, error)
        except NoRoom as error:
            await self._wait_for_room(job, wish, needs_bytes=error.needed_bytes)
        except DiskFull:
            await self._wait_for_room(job, wish, needs_bytes=wish.size_bytes)

    async def _load(self, database: Database, item_id: UUID) -> Wish | None:
        async with database.transaction() as tx:
            seen = await inspections.get_inspection(tx, item_id)
            item = await get_item(tx, item_id)
            if seen is None or item is None or seen.due_at is None or seen.due_at > self.clock.now():
                return None
            files = await inspections.list_item_files(tx, item_id)
            around = await list_surroundings(tx, [item_id])
        return Wish(
            seen, item.title, item.channel_id, arrange_volumes(files), around.get(item_id, NOTHING_NEARBY)
        )

    async def _look(self, database: Database, wish: Wish) -> Inspected:
        places = wish.places
        blob_ids = tuple(place.blob_id if place else None for place in places)
        if not any(blob_ids):
            return Inspected("empty")
        if not may_hold_contents(wish.name):
            return Inspected("plain", blob_ids)
        proof = await prove_volumes(self.files.store, wish.volumes)
        await self._tell_set(database, wish, proof)
        async with self.files.open(places) as paths:
            listing = await self.archives.list_contents(paths, name=wish.name)
        state = judge_problems(listing.problems, file_name=wish.name)
        if state == "plain":
            return Inspected("plain", blob_ids)
        return Inspected(state, blob_ids, listing, proof.of_set)

    async def _tell_set(self, database: Database, wish: Wish, proof: Proof) -> None:
        """Let the item's set know what headers prove; before the long look, and under the stream's lock."""
        if proof.total == wish.seen.proven_total and not proof.evidence:
            return
        now = self.clock.now()
        async with database.transaction() as tx:
            await lock_stream(tx, wish.channel_id)
            if await inspections.note_proof(tx, wish.seen, proven_total=proof.total):
                await reassemble_items(tx, [wish.seen.item_id], now=now)
                await note_evidence(tx, wish.channel_id, proof.evidence, now=now)

    @asynccontextmanager
    async def _picture(self, wish: Wish, listing: Listing) -> AsyncGenerator[PictureChange | None, None]:
        """Give the change to make to the item's picture; nothing if there is none to make."""
        sources = CoverSources(wish.title, wish.volumes, wish.places, listing, wish.surroundings)
        candidates = sources.list_candidates()
        key = sources.key(candidates)
        if key == wish.seen.picture_key or wish.seen.picture_source == "set_by_person":
            yield None
            return
        async with self.files.scratch.folder() as folder:
            found = await self.covers.find(sources, candidates, folder)
            if found is None:
                yield PictureChange(key)
                return
            async with self.blobs.store(wish.seen.item_id, found.previews.files) as stored:
                yield PictureChange(key, found, stored)

    async def _settle(self, tx: Tx, wish: Wish, result: Inspected, picture: PictureChange | None) -> None:
        seen = wish.seen
        if any(result.volumes):
            # Files are locked before inspections, as downloads do.
            await want_covers(tx, pick_wanted(wish.surroundings), now=self.clock.now())
        settled = await inspections.settle_inspection(
            tx, seen, result, same_entries=_is_as_before(seen, result), now=self.clock.now()
        )
        if not settled:
            await enqueue(tx, [Wake(KIND, str(seen.item_id))])
            return
        if picture is not None:
            await replace_pictures(
                tx,
                seen.item_id,
                picture.stored,
                key=picture.key,
                source=picture.found.reason if picture.found else "",
                colour=picture.found.previews.colour if picture.found else "",
            )
        await publish(tx, Event("inspections"))

    async def _wait_for_room(self, job: Job[UUID], wish: Wish, *, needs_bytes: int) -> None:
        """Try again later, and say how much room it needs."""
        due_at = self.clock.now() + ROOM_REST
        async with job.finish() as tx:
            await inspections.wait_for_room(tx, wish.seen, needs_bytes=max(needs_bytes, 1), due_at=due_at)
            await publish(tx, Event("inspections"))

    async def _give_up_objects(self, job: Job[UUID], wish: Wish, error: Exception) -> None:
        """Note which objects are missing, if the store is there at all, and look again without them."""
        await self.files.confirm_store()
        bad = [place for place in wish.places if place and not await self._is_whole(place)]
        if not bad:
            raise StoreAway(f"An object could not be read: {error}") from error
        now = self.clock.now()
        await condemn_blobs(job.database, [place.blob_id for place in bad if place.blob_id], now=now)
        async with job.finish() as tx:
            await enqueue(tx, [Wake(KIND, str(wish.seen.item_id))])

    async def _is_whole(self, file: ItemFile) -> bool:
        return await self.files.store.get_size(file.object_name) == file.size_bytes


def _is_as_before(seen: Inspection, result: Inspected) -> bool:
    """Tell whether the entries in the database are the ones that were read again."""
    listing = result.listing
    return (
        seen.volumes == list(result.volumes)
        and seen.problems == list(listing.problems)
        and seen.entry_count == len(listing.entries)
        and seen.unpacked_bytes == listing.unpacked_bytes
    )
