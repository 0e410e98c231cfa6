"""The collector: what nothing refers to goes, in its time, and nothing else does."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from blob_rows import NOW, ask, content_of, do, list_blobs, make_writer, names_in, store_content

from headgate.storage.blobs import collector
from headgate.storage.blobs.blobs import Blob
from headgate.storage.blobs.collector import Collected, collect, sweep_orphans
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.doomed import BackupUnprotected, protect_for_backup
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.blobs.store import name_object
from headgate.storage.database import Database, connect

GRACE = timedelta(hours=24)
NOTHING = Collected(0, 0, 0)


@pytest.fixture
async def blob(database: Database, disk: DiskStore, spools: SpoolFolder) -> Blob:
    """Content that nothing refers to yet, and a table that could."""
    await do(database, "add_references", "see_references")
    # The row of the store, as `claim_store` makes it.
    async with database.transaction() as tx:
        await tx.connection.execute("insert into blob_store (id) values (%s)", (UUID(int=1),))
    return await store_content(make_writer(database, disk), spools, b"content")


async def _collect(database: Database, disk: DiskStore, *, hours: float) -> Collected:
    return await collect(database, disk, now=NOW + timedelta(hours=hours), keep_unused=GRACE)


async def test_unreferenced_content_goes_after_the_grace_period_and_a_day(
    database: Database, disk: DiskStore, blob: Blob
) -> None:
    assert await _collect(database, disk, hours=0) == NOTHING
    assert await _collect(database, disk, hours=23.9) == NOTHING
    assert await list_blobs(database) == [blob]
    assert await _collect(database, disk, hours=24) == Collected(0, 1, 0)
    assert await list_blobs(database) == []
    assert await _collect(database, disk, hours=47.9) == NOTHING
    assert await content_of(disk, blob) == b"content"
    assert await _collect(database, disk, hours=48) == Collected(0, 0, 1)
    assert await names_in(disk) == []
    assert await ask(database, "list_doomed") == []


async def test_referenced_content_stays(database: Database, disk: DiskStore, blob: Blob) -> None:
    await do(database, "hold", id=blob.id)
    for day in range(5):
        assert await _collect(database, disk, hours=24 * day) == NOTHING
    assert await list_blobs(database) == [blob]


async def test_the_grace_period_begins_when_the_last_reference_has_gone(
    database: Database, disk: DiskStore, blob: Blob
) -> None:
    await do(database, "hold", id=blob.id)
    await _collect(database, disk, hours=0)
    await do(database, "let_go")
    await _collect(database, disk, hours=100)
    assert await _collect(database, disk, hours=123) == NOTHING
    assert await _collect(database, disk, hours=124) == Collected(0, 1, 0)


async def test_content_that_is_referred_to_again_begins_a_new_grace_period(
    database: Database, disk: DiskStore, blob: Blob
) -> None:
    await _collect(database, disk, hours=0)
    await do(database, "hold", id=blob.id)
    await _collect(database, disk, hours=23)
    await do(database, "let_go")
    await _collect(database, disk, hours=24)
    assert await _collect(database, disk, hours=47) == NOTHING
    assert await _collect(database, disk, hours=48) == Collected(0, 1, 0)


async def test_a_reference_that_is_being_written_keeps_its_blob(
    database: Database, disk: DiskStore, blob: Blob
) -> None:
    await _collect(database, disk, hours=0)
    async with database.transaction() as tx:
        await tx.connection.execute("insert into holder (blob_id) values (%s)", (blob.id,))
        async with asyncio.timeout(30):
            assert await _collect(database, disk, hours=48) == NOTHING
    assert await _collect(database, disk, hours=72) == NOTHING
    assert await list_blobs(database) == [blob]


async def test_a_reference_that_came_before_the_lock_is_seen_by_the_second_look(
    database: Database, disk: DiskStore, blob: Blob
) -> None:
    """The first statement judges by what it saw before another commits; the second must not believe it."""
    await _collect(database, disk, hours=0)
    await do(database, "hold", id=blob.id)
    async with database.transaction() as tx:
        ids = await tx.column(collector.Q["lock_unreferenced"], before=NOW + GRACE, limit=10)
        assert ids == []
        doomed = await tx.execute(
            collector.Q["doom_unreferenced"], ids=[blob.id], now=NOW, delete_at=NOW + GRACE
        )
        assert doomed == 0
    assert await list_blobs(database) == [blob]


async def test_a_blob_that_is_being_collected_cannot_be_referred_to(
    database: Database, database_url: str, blob: Blob, disk: DiskStore
) -> None:
    await _collect(database, disk, hours=0)
    connection = await connect(database_url)
    async with connection, database.transaction() as tx:
        ids = await tx.column(collector.Q["lock_unreferenced"], before=NOW + GRACE, limit=10)
        referring = asyncio.create_task(
            connection.execute("insert into holder (blob_id) values (%s)", (blob.id,))
        )
        await tx.execute(collector.Q["doom_unreferenced"], ids=ids, now=NOW, delete_at=NOW)
        await tx.connection.execute("commit")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            await referring


async def test_the_round_goes_over_all_blobs_in_small_steps(
    database: Database, disk: DiskStore, spools: SpoolFolder, blob: Blob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "BATCH", 2)
    monkeypatch.setattr(collector, "MAX_BATCHES", 1)
    writer = make_writer(database, disk)
    blobs = [await store_content(writer, spools, str(number).encode()) for number in range(6)]
    for each in blobs[::2]:
        await do(database, "hold", id=each.id)
    for turn in range(4):
        await _collect(database, disk, hours=turn / 10)
    for turn in range(8):
        await _collect(database, disk, hours=30 + turn / 10)
    assert await list_blobs(database) == blobs[::2]
    for turn in range(8):
        await _collect(database, disk, hours=60 + turn / 10)
    assert await names_in(disk) == sorted(each.object_name for each in blobs[::2])


async def test_collectors_at_the_same_time_do_not_disturb_each_other(
    database: Database, disk: DiskStore, spools: SpoolFolder, blob: Blob
) -> None:
    writer = make_writer(database, disk)
    blobs = [await store_content(writer, spools, str(number).encode()) for number in range(20)]
    for each in blobs[10:]:
        await do(database, "hold", id=each.id)
    for hours in (0, 25, 50):
        await asyncio.gather(*(_collect(database, disk, hours=hours) for _ in range(5)))
    assert await list_blobs(database) == blobs[10:]
    assert await names_in(disk) == sorted(each.object_name for each in blobs[10:])


async def test_nothing_is_deleted_while_a_backup_runs(
    database: Database, database_url: str, disk: DiskStore, blob: Blob
) -> None:
    await _collect(database, disk, hours=0)
    async with protect_for_backup(database_url), protect_for_backup(database_url):
        assert await _collect(database, disk, hours=24) == Collected(0, 1, 0)
        assert await _collect(database, disk, hours=100) == NOTHING
        assert await content_of(disk, blob) == b"content"
    assert await _collect(database, disk, hours=100) == Collected(0, 0, 1)


async def test_a_backup_that_lost_its_protection_says_so(database: Database, database_url: str) -> None:
    with pytest.raises(BackupUnprotected):
        async with protect_for_backup(database_url) as protection, database.transaction() as tx:
            await protection.confirm()
            await tx.connection.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where application_name = 'headgate backup of files' and datname = current_database()"
            )
            await protection.confirm()


async def test_an_abandoned_upload_is_given_up_and_its_object_deleted(
    database: Database, disk: DiskStore, blob: Blob
) -> None:
    await do(database, "hold", id=blob.id)
    name = name_object(bytes(32), upload_id=UUID(int=5))
    async with database.transaction() as tx:
        await tx.connection.execute(
            "insert into upload_intent (id, sha256, size_bytes, object_name, expires_at)"
            " values (%s, %s, 4, %s, clock_timestamp() + interval '10 minutes')",
            (UUID(int=5), bytes(32), name),
        )
    (disk.folder / name).parent.mkdir(parents=True)
    (disk.folder / name).write_bytes(b"half")
    assert await sweep_orphans(database, disk, now=NOW) == 0
    assert await _collect(database, disk, hours=0) == NOTHING
    await do(database, "pass_an_hour")
    assert await _collect(database, disk, hours=0) == Collected(1, 0, 0)
    assert await ask(database, "list_reasons") == ["abandoned"]
    assert await sweep_orphans(database, disk, now=NOW) == 0
    assert await _collect(database, disk, hours=24) == Collected(0, 0, 1)
    assert await names_in(disk) == [blob.object_name]


async def test_objects_that_no_row_knows_go_after_a_day(
    database: Database, disk: DiskStore, blob: Blob
) -> None:
    await do(database, "hold", id=blob.id)
    orphan = disk.folder / name_object(bytes(32), upload_id=UUID(int=5))
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"left behind")
    assert await sweep_orphans(database, disk, now=NOW) == 1
    assert await sweep_orphans(database, disk, now=NOW) == 0
    assert await _collect(database, disk, hours=23) == NOTHING
    assert orphan.exists()
    assert await _collect(database, disk, hours=24) == Collected(0, 0, 1)
    assert await names_in(disk) == [blob.object_name]
    assert await content_of(disk, blob) == b"content"
