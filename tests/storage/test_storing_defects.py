"""Ways in which storing files went wrong before: races, bytes in rows, messages without their channel."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

from blob_rows import NOW, list_blobs, make_writer, names_in, spool_of, store_content

from headgate.storage.blobs.blobs import ContentId, find_aliases, upsert_aliases
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "storing defects",
    """
-- name: list_binary_columns
select table_name || '.' || column_name from information_schema.columns
where table_schema = current_schema() and data_type = 'bytea' and table_name not like 'pgqueuer%%' order by 1

-- name: add_files
with channels as (
    insert into channel (id, platform, key, kind, title, created_at)
    select gen_random_uuid(), 'simulated', n, 'stream', n, %(now)s from unnest('{1,2}'::text[]) as n
    returning id
), seen as (
    insert into sighting (id, channel_id, message_key, attachment_key, position, file_name, size_bytes,
        mime_type, sent_at, version_at, seen_at, verdict)
    select id, id, '42', 'a0', 42, 'pack.zip', 1, 'application/zip', %(now)s, %(now)s, %(now)s, 'kept'
    from channels returning id, channel_id
)
insert into item_file (sighting_id, channel_id, state, blob_id)
select id, channel_id, 'stored', %(blob_id)s from seen

-- name: count_files
select count(*) from item_file

-- name: leave_unused
update blob set unreferenced_since = %(now)s

-- name: lock
select id from blob where id = %(id)s for no key update nowait

-- name: count_waiting
-- A transaction sees the activity of its first look, unless it forgets that.
select count(*) from (select pg_stat_clear_snapshot() offset 0) as forgotten, pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock'
""",
)

ROUNDS = 20
WORKERS = 4


async def test_equal_content_that_arrives_many_times_at_once_is_stored_once(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    """Looking first and inserting then made two rows."""
    writers = [make_writer(database, disk) for _ in range(WORKERS)]
    for number in range(ROUNDS):
        content = f"content {number}".encode()
        arrived = [await spool_of(spools, f"copy-{worker}", content) for worker in range(WORKERS)]
        blobs = await asyncio.gather(
            *(writer.store(spool) for writer, spool in zip(writers, arrived, strict=True))
        )
        assert len({blob.id for blob in blobs}) == 1
        for spool in arrived:
            await spool.discard()
    stored = await list_blobs(database)
    assert len(stored) == ROUNDS
    assert await names_in(disk) == sorted(blob.object_name for blob in stored)


async def test_no_row_holds_the_bytes_of_a_file_or_picture(database: Database) -> None:
    """Lists loaded the previews of all their rows only to see which have one."""
    async with database.transaction() as tx:
        columns: list[str] = await tx.column(Q["list_binary_columns"])
    small = ("hash", "sha256", "digest", "key", "nonce", "ciphertext")
    # What a person attached to a reminder is read by nothing but its sends.
    assert [column for column in columns if not column.endswith(small)] == ["media.content"]


async def test_messages_of_one_number_in_two_channels_are_two_files(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    blob = await store_content(make_writer(database, disk), spools, b"content")
    async with database.transaction() as tx:
        await tx.execute(Q["add_files"], blob_id=blob.id, now=NOW)
        assert await tx.value(Q["count_files"]) == 2


async def test_linking_known_content_and_storing_it_lock_in_one_order(
    database: Database, disk: DiskStore, spools: SpoolFolder, tmp_path: Path
) -> None:
    """One took the ids' order and the other the hashes', and they waited for each other."""
    writer = make_writer(database, disk)
    blobs = [await store_content(writer, spools, str(number).encode()) for number in range(8)]
    by_hash = sorted(blobs, key=lambda blob: blob.sha256)
    first, last = by_hash[0], next(blob for blob in reversed(by_hash) if blob.id < by_hash[0].id)
    names = {ContentId("p", "", blob.id.hex, blob.size_bytes): blob.id for blob in (first, last)}
    async with database.transaction() as tx:
        await upsert_aliases(tx, names, now=NOW)
        await tx.execute(Q["leave_unused"], now=NOW)

    async def link() -> set[UUID]:
        async with database.transaction() as tx:
            return {blob.id for blob in (await find_aliases(tx, list(names))).values()}

    async with database.transaction() as tx:
        await tx.column(Q["lock"], id=first.id)
        linking = asyncio.create_task(link())
        while not await tx.value(Q["count_waiting"]):
            pass
        assert await tx.column(Q["lock"], id=last.id) == [last.id]
    assert await linking == {first.id, last.id}
