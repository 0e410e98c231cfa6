"""Storing: from a finished spool to a blob.

The intent is committed before the first byte of the object; then the object is made; then one statement
turns the intent into the blob, or dooms the object because another's blob is there. A kill in between leaves
an intent that expires, and a spool from which the next attempt goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import UUID

from headgate.domain.errors import Transient
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.storage.blobs import doomed
from headgate.storage.blobs.blobs import Blob
from headgate.storage.blobs.intents import (
    INTENT_TTL_S,
    Intent,
    Settled,
    begin_uploads,
    renew_uploads,
    settle_uploads,
)
from headgate.storage.blobs.spools import Spool
from headgate.storage.blobs.store import BlobStore, NotDurable, StoreAway, Upload, name_object
from headgate.storage.database import Database
from headgate.storage.errors import DatabaseAway
from headgate.storage.gathering import Gatherer

log = get_logger("blobs")

SMALL_BYTES = 2**20
"""Files up to this size are stored together; nobody waits for a large one."""


class UploadGivenUp(Transient):
    """The upload took so long without a sign of life that its object was given up."""


@dataclass(frozen=True)
class _Outcome:
    blob: Blob | None
    error: Exception | None = None

    def get(self) -> Blob:
        if self.blob is None:
            raise self.error or AssertionError("an outcome is a blob or an error")
        return self.blob


class BlobWriter:
    """Stores finished spools, once for each content."""

    def __init__(self, database: Database, store: BlobStore, *, ids: Ids, clock: Clock) -> None:
        self._database = database
        self._store = store
        self._ids = ids
        self._clock = clock
        self._small = Gatherer[Spool, _Outcome](self._store_all)

    async def store(self, spool: Spool) -> Blob:
        """Store the content of a finished spool and return its blob.

        Small ones that are stored at the same moment share their statements. Discard the spool when what
        refers to the blob is committed: a crash before then costs no second download.
        """
        if spool.length <= SMALL_BYTES:
            return (await self._small.ask(spool)).get()
        return (await self._store_all([spool]))[0].get()

    async def store_all(self, spools: Sequence[Spool]) -> list[Blob]:
        """Store several finished spools together; if one fails, the others are stored before this raises."""
        return [outcome.get() for outcome in await self._store_all(spools)]

    async def _store_all(self, spools: Sequence[Spool]) -> list[_Outcome]:
        hashes = [spool.sha256 for spool in spools]
        by_hash = dict(zip(hashes, spools, strict=True))
        intents = {sha256: self._intend(sha256, spool) for sha256, spool in by_hash.items()}
        async with self._database.autocommit() as tx:
            known = await begin_uploads(tx, list(intents.values()))
        outcomes = {blob.sha256: _Outcome(blob) for blob in known}
        fresh = [intent for sha256, intent in intents.items() if sha256 not in outcomes]
        if fresh:
            outcomes |= await self._upload(fresh, by_hash)
        return [outcomes[sha256] for sha256 in hashes]

    def _intend(self, sha256: bytes, spool: Spool) -> Intent:
        upload_id = self._ids.new()
        return Intent(upload_id, sha256, spool.length, name_object(sha256, upload_id=upload_id))

    async def _upload(self, intents: Sequence[Intent], spools: dict[bytes, Spool]) -> dict[bytes, _Outcome]:
        """Make the objects and settle those that succeeded."""
        uploads = [
            Upload(intent.object_name, spools[intent.sha256].path, intent.size_bytes) for intent in intents
        ]
        async with self._kept_alive([intent.id for intent in intents]):
            failed = await self._store.put(uploads)
        for intent in intents:
            if isinstance(failed.get(intent.object_name), NotDurable):
                await spools[intent.sha256].restart()
        made = [intent for intent in intents if intent.object_name not in failed]
        for intent in made:
            # To fetch a small file once more costs less than a note for each.
            if intent.size_bytes > SMALL_BYTES:
                await spools[intent.sha256].note_stored()
        settled = await self._settle([intent.id for intent in made]) if made else {}
        await self._delete_duplicates([each.duplicate for each in settled.values() if each.duplicate])
        return {intent.sha256: _outcome(intent, failed, settled) for intent in intents}

    async def _settle(self, upload_ids: Sequence[UUID]) -> dict[UUID, Settled]:
        async with self._database.autocommit() as tx:
            settled = await settle_uploads(tx, upload_ids, now=self._clock.now())
        return {each.upload_id: each for each in settled}

    async def _delete_duplicates(self, names: Sequence[str]) -> None:
        """Delete our own objects where another's blob was there first; the collector does what fails here."""
        if names:
            with suppress(StoreAway, OSError, DatabaseAway):
                await doomed.delete_objects(self._database, self._store, names)

    @asynccontextmanager
    async def _kept_alive(self, upload_ids: Sequence[UUID]) -> AsyncGenerator[None, None]:
        """Give signs of life while objects are made."""
        renewing = asyncio.create_task(self._renew(upload_ids), name="renew uploads")
        try:
            yield
        finally:
            renewing.cancel()

    async def _renew(self, upload_ids: Sequence[UUID]) -> None:
        while True:
            await self._clock.sleep(INTENT_TTL_S / 5)
            try:
                async with self._database.autocommit() as tx:
                    await renew_uploads(tx, upload_ids)
            except DatabaseAway:
                log.warning("uploads could not be renewed; trying again")


def _outcome(intent: Intent, failed: dict[str, Exception], settled: dict[UUID, Settled]) -> _Outcome:
    if (error := failed.get(intent.object_name)) is not None:
        return _Outcome(None, error)
    if (ended := settled.get(intent.id)) is None:
        return _Outcome(None, UploadGivenUp(f"The upload of {intent.object_name} took too long."))
    return _Outcome(ended.blob)
