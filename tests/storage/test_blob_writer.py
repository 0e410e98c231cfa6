"""Storing: one blob for each content, whoever stores it and whatever fails."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from blob_rows import (
    NOW,
    ask,
    content_of,
    do,
    list_blobs,
    make_writer,
    names_in,
    spool_of,
    store_content,
)

from headgate.kernel.clock import RealClock
from headgate.kernel.files_settings import FilesSettings
from headgate.storage.blobs.blobs import (
    ContentId,
    find_aliases,
    get_blobs,
    mark_damaged,
    upsert_aliases,
)
from headgate.storage.blobs.collector import collect
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.intents import give_up_expired
from headgate.storage.blobs.opening import claim_store, open_store
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.blobs.store import BlobStore, NotDurable, StoreAway, StoreTrouble, Upload
from headgate.storage.blobs.writer import SMALL_BYTES, UploadGivenUp
from headgate.storage.database import Database, Tx

LARGE = b"large" * SMALL_BYTES


@pytest.fixture(params=["disk", "s3"])
def files(request: pytest.FixtureRequest) -> FilesSettings:
    return request.getfixturevalue("bucket_settings") if request.param == "s3" else FilesSettings()


@pytest.fixture
async def store(files: FilesSettings, tmp_path: Path) -> AsyncIterator[BlobStore]:
    store = open_store(files, tmp_path)
    await store.check()
    yield store
    await store.close()


@pytest.mark.parametrize("content", [b"", b"small", LARGE], ids=["nothing", "small", "large"])
async def test_what_is_stored_can_be_read(
    database: Database, store: BlobStore, spools: SpoolFolder, content: bytes
) -> None:
    blob = await store_content(make_writer(database, store), spools, content)
    assert blob.sha256 == hashlib.sha256(content).digest()
    assert blob.object_name == f"{blob.sha256.hex()[:2]}/{blob.sha256.hex()}-{blob.id.hex}"
    assert await content_of(store, blob) == content
    assert await list_blobs(database) == [blob]
    assert await ask(database, "list_intents") == []


async def test_the_same_content_is_stored_once(
    database: Database, store: BlobStore, spools: SpoolFolder
) -> None:
    writer = make_writer(database, store)
    first = await store_content(writer, spools, b"content", key="a")
    assert await store_content(writer, spools, b"content", key="b") == first
    assert await names_in(store) == [first.object_name]


async def test_workers_that_race_on_one_content_all_get_the_one_blob(
    database: Database, database_url: str, store: BlobStore, spools: SpoolFolder
) -> None:
    other = Database(database_url, RealClock())
    await other.open()
    writers = [make_writer(each, store) for each in (database, other, database, other)]
    for turn in range(5):
        content = f"content {turn}".encode() * (SMALL_BYTES if turn == 4 else 1)
        racing = [
            store_content(writer, spools, content, key=f"{turn}-{number}")
            for number, writer in enumerate(writers)
        ]
        blobs = await asyncio.gather(*racing)
        assert len(set(blobs)) == 1
        assert await content_of(store, blobs[0]) == content
    assert await names_in(store) == sorted(blob.object_name for blob in await list_blobs(database))
    assert await ask(database, "list_doomed") == []
    await other.close()


async def test_batches_in_any_order_do_not_wait_in_a_circle(
    database: Database, database_url: str, disk: DiskStore, spools: SpoolFolder
) -> None:
    contents = [f"content {number}".encode() for number in range(30)]

    async def store_in_order(worker: int, order: Sequence[bytes]) -> list[UUID]:
        pool = Database(database_url, RealClock())
        await pool.open()
        batch = [
            await spool_of(spools, f"{worker}-{number}", content) for number, content in enumerate(order)
        ]
        blobs = await make_writer(pool, disk).store_all(batch)
        await pool.close()
        return [blob.id for blob in blobs]

    orders = [contents, contents[::-1], contents[10:] + contents[:10], contents[::2] + contents[1::2]]
    results = await asyncio.gather(*(store_in_order(n, order) for n, order in enumerate(orders)))
    assert len({frozenset(ids) for ids in results}) == 1
    assert len(await list_blobs(database)) == 30
    assert len(await names_in(disk)) == 30


async def test_small_files_of_one_moment_share_their_statements(
    database_url: str, disk: DiskStore, spools: SpoolFolder
) -> None:
    counting = _CountingDatabase(database_url, RealClock())
    await counting.open()
    writer = make_writer(counting, disk)
    batch = [await spool_of(spools, str(number), str(number).encode()) for number in range(60)]
    blobs = await asyncio.gather(*(writer.store(spool) for spool in batch))
    assert len({blob.id for blob in blobs}) == 60
    assert counting.statements <= 8
    await counting.close()


class _CountingDatabase(Database):
    statements = 0

    @asynccontextmanager
    async def autocommit(self) -> AsyncGenerator[Tx, None]:
        self.statements += 1
        async with super().autocommit() as tx:
            yield tx


class _UnreliableStore(DiskStore):
    """Refuses some objects."""

    async def put(self, uploads: Sequence[Upload]) -> dict[str, Exception]:
        refused = {each.object_name: StoreAway("no") for each in uploads if each.size_bytes == 3}
        return refused | await super().put([each for each in uploads if each.object_name not in refused])


async def test_what_fails_is_not_there_and_others_of_its_batch_are(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    store = _UnreliableStore(disk.folder)
    good, bad = await spool_of(spools, "good", b"good"), await spool_of(spools, "bad", b"bad")
    writer = make_writer(database, store)
    results = await asyncio.gather(writer.store(good), writer.store(bad), return_exceptions=True)
    assert isinstance(results[1], StoreAway)
    assert [results[0]] == await list_blobs(database)
    assert await store_content(make_writer(database, disk), spools, b"bad") in await list_blobs(database)


async def test_a_file_that_could_not_be_synced_is_not_trusted_again(
    database: Database, disk: DiskStore, spools: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failed sync the next one succeeds, whether or not the bytes are on the disk."""
    spool = await spool_of(spools, "a", b"content")
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", _refuse_to_sync)
        with pytest.raises(NotDurable):
            await make_writer(database, disk).store(spool)
    assert (spool.length, await list_blobs(database)) == (0, [])
    await spool.append(b"content")
    await spool.finish(size_bytes=7)
    assert await content_of(disk, await make_writer(database, disk).store(spool)) == b"content"


def _refuse_to_sync(descriptor: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


class _SlowStore(DiskStore):
    """Holds objects back until it is told."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.began = asyncio.Event()
        self.go_on = asyncio.Event()

    async def put(self, uploads: Sequence[Upload]) -> dict[str, Exception]:
        self.began.set()
        await self.go_on.wait()
        return await super().put(uploads)


async def test_the_intent_is_there_before_the_first_byte(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    store = _SlowStore(disk.folder)
    storing = asyncio.create_task(store_content(make_writer(database, store), spools, b"content"))
    await store.began.wait()
    intents = await ask(database, "list_intents")
    assert (len(intents), await names_in(store), await list_blobs(database)) == (1, [], [])
    store.go_on.set()
    assert (await storing).object_name == intents[0]


async def test_an_upload_that_was_given_up_becomes_no_blob(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    store = _SlowStore(disk.folder)
    storing = asyncio.create_task(store_content(make_writer(database, store), spools, b"content"))
    await store.began.wait()
    await do(database, "pass_an_hour")
    async with database.transaction() as tx:
        assert await give_up_expired(tx, now=NOW, limit=10) == 1
    store.go_on.set()
    with pytest.raises(UploadGivenUp):
        await storing
    assert await list_blobs(database) == []
    assert await ask(database, "list_doomed") == await names_in(store)


class _SteppedClock(RealClock):
    """Hands out its waits, each to be ended by the test."""

    def __init__(self) -> None:
        self.waits: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()

    async def sleep(self, real_s: float) -> None:
        wait = asyncio.get_running_loop().create_future()
        self.waits.put_nowait(wait)
        await wait


async def test_a_long_upload_gives_signs_of_life(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    store, clock = _SlowStore(disk.folder), _SteppedClock()
    writer = make_writer(database, store, clock=clock)
    storing = asyncio.create_task(store_content(writer, spools, b"content"))
    first = await clock.waits.get()
    await do(database, "pass_10_minutes")
    first.set_result(None)
    await clock.waits.get()
    await do(database, "pass_20_minutes")
    async with database.transaction() as tx:
        assert await give_up_expired(tx, now=NOW, limit=10) == 0
    store.go_on.set()
    assert [await storing] == await list_blobs(database)


async def test_damaged_content_is_replaced_when_it_is_stored_again(
    database: Database, store: BlobStore, spools: SpoolFolder
) -> None:
    writer = make_writer(database, store)
    before = await store_content(writer, spools, b"content")
    await store.delete([before.object_name])
    async with database.transaction() as tx:
        await mark_damaged(tx, [before.id], now=NOW)
    after = await store_content(writer, spools, b"content", key="b")
    assert after.id == before.id
    assert after.object_name != before.object_name
    assert await content_of(store, after) == b"content"
    assert await ask(database, "list_doomed") == [before.object_name]
    assert await store_content(writer, spools, b"content", key="c") == after


async def test_known_content_is_found_by_what_the_platform_calls_it(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    blob = await store_content(make_writer(database, disk), spools, b"content")
    known = ContentId("telegram", "", "document-7", 7)
    others = [ContentId("telegram", "", "document-7", 8), ContentId("discord", "", "document-7", 7)]
    async with database.transaction() as tx:
        await upsert_aliases(tx, {known: blob.id}, now=NOW)
        await upsert_aliases(tx, {known: blob.id}, now=NOW)
        assert await find_aliases(tx, [known, *others]) == {known: blob}
        await mark_damaged(tx, [blob.id], now=NOW)
        assert await find_aliases(tx, [known]) == {}
        assert await find_aliases(tx, []) == {}
        assert await get_blobs(tx, [blob.id, UUID(int=0)]) == {blob.id: blob}


async def test_content_that_is_found_again_is_not_collected(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    writer = make_writer(database, disk)
    blob = await store_content(writer, spools, b"content")
    alias = ContentId("telegram", "", "document-7", 7)
    async with database.transaction() as tx:
        await upsert_aliases(tx, {alias: blob.id}, now=NOW)
    grace = timedelta(days=1)
    await collect(database, disk, now=NOW, keep_unused=grace)
    assert await store_content(writer, spools, b"content", key="b") == blob
    await collect(database, disk, now=NOW + timedelta(days=2), keep_unused=grace)
    async with database.transaction() as tx:
        assert await find_aliases(tx, [alias]) == {alias: blob}
    await collect(database, disk, now=NOW + timedelta(days=4), keep_unused=grace)
    assert await list_blobs(database) == [blob]
    await collect(database, disk, now=NOW + timedelta(days=6), keep_unused=grace)
    assert await list_blobs(database) == []
    async with database.transaction() as tx:
        assert await find_aliases(tx, [alias]) == {}


async def test_a_store_belongs_to_one_database(database: Database, store: BlobStore) -> None:
    await claim_store(database, store, fresh_id=UUID(int=1))
    await claim_store(database, store, fresh_id=UUID(int=2))
    assert await store.read_mark() == str(UUID(int=1))
    await store.write_mark(str(UUID(int=9)))
    with pytest.raises(StoreTrouble, match="files of another Headgate database"):
        await claim_store(database, store, fresh_id=UUID(int=3))


async def test_a_store_that_lost_its_mark_is_not_taken_for_ours(database: Database, disk: DiskStore) -> None:
    await claim_store(database, disk, fresh_id=UUID(int=1))
    (disk.folder / "headgate-store").unlink()
    with pytest.raises(StoreTrouble, match="Mount the disk") as raised:
        await claim_store(database, disk, fresh_id=UUID(int=2))
    assert await disk.read_mark() is None
    assert f"write {UUID(int=1)} into headgate-store" in raised.value.remedy
    (disk.folder / "headgate-store").write_text(f"{UUID(int=1)}\n")
    await claim_store(database, disk, fresh_id=UUID(int=2))
