"""What the tests of stored content see and do beside the product."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.blobs.blobs import Blob
from headgate.storage.blobs.spools import Spool, SpoolFolder
from headgate.storage.blobs.store import BlobStore
from headgate.storage.blobs.verify import read_blob
from headgate.storage.blobs.writer import BlobWriter
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

Q = QueryFile(
    "test",
    """
-- name: list_blobs
select id, sha256, size_bytes, object_name from blob order by id

-- name: list_intents
select object_name from upload_intent

-- name: list_doomed
select object_name from doomed_object order by object_name

-- name: list_reasons
select reason from doomed_object order by reason

-- name: add_references
create table holder (blob_id uuid references blob (id))

-- name: see_references
create or replace view blob_reference as
select blob_id from item_file where blob_id is not null union all select blob_id from holder

-- name: hold
insert into holder (blob_id) values (%(id)s)

-- name: let_go
delete from holder

-- name: pass_10_minutes
create or replace function headgate_real_now() returns timestamptz language sql volatile
return clock_timestamp() + interval '10 minutes'

-- name: pass_20_minutes
create or replace function headgate_real_now() returns timestamptz language sql volatile
return clock_timestamp() + interval '20 minutes'

-- name: expire_uploads
update upload_intent set expires_at = clock_timestamp()

-- name: pass_an_hour
create or replace function headgate_real_now() returns timestamptz language sql volatile
return clock_timestamp() + interval '1 hour'
""",
)


def make_writer(database: Database, store: BlobStore, *, clock: Clock | None = None) -> BlobWriter:
    clock = clock or RealClock()
    return BlobWriter(database, store, ids=Ids(clock, Randomness()), clock=clock)


async def spool_of(spools: SpoolFolder, key: str, content: bytes) -> Spool:
    """Return a finished spool."""
    spool = await spools.open(key, version="1")
    await spool.append(content[spool.length :])
    await spool.finish(size_bytes=len(content), sha256=hashlib.sha256(content).digest())
    return spool


async def store_content(writer: BlobWriter, spools: SpoolFolder, content: bytes, *, key: str = "a") -> Blob:
    """Store content from a spool of its own."""
    spool = await spool_of(spools, key, content)
    blob = await writer.store(spool)
    await spool.discard()
    return blob


async def content_of(store: BlobStore, blob: Blob) -> bytes:
    return b"".join([chunk async for chunk in read_blob(store, blob)])


async def names_in(store: BlobStore) -> list[str]:
    return sorted([name async for name in _names(store)])


async def _names(store: BlobStore) -> AsyncIterator[str]:
    async for names in store.list_names():
        for name in names:
            yield name


async def ask(database: Database, query: str, **parameters: Any) -> list[Any]:
    async with database.transaction() as tx:
        return await tx.column(Q[query], **parameters)


async def do(database: Database, *queries: str, **parameters: Any) -> None:
    async with database.transaction() as tx:
        for query in queries:
            await tx.execute(Q[query], **parameters)


async def list_blobs(database: Database) -> list[Blob]:
    async with database.transaction() as tx:
        return await tx.all(Blob, Q["list_blobs"])
