"""Verifying: what is damaged or missing is found, batch by batch, and going on needs only the last id."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest
from blob_rows import NOW, list_blobs, make_writer, store_content

from headgate.kernel.files_settings import FilesSettings
from headgate.storage.blobs.blobs import Blob, mark_damaged
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.opening import open_store
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.blobs.store import BlobStore, Upload
from headgate.storage.blobs.verify import START, Auditor, Damage, read_blob
from headgate.storage.database import Database


@pytest.fixture(params=["disk", "s3"])
def files(request: pytest.FixtureRequest) -> FilesSettings:
    return request.getfixturevalue("bucket_settings") if request.param == "s3" else FilesSettings()


@pytest.fixture
async def store(files: FilesSettings, tmp_path: Path) -> AsyncIterator[BlobStore]:
    store = open_store(files, tmp_path)
    await store.check()
    yield store
    await store.close()


async def _overwrite(store: BlobStore, blob: Blob, content: bytes, folder: Path) -> None:
    """Damage an object behind the product's back."""
    path = folder / "damage"
    path.write_bytes(content)
    await store.delete([blob.object_name])
    assert await store.put([Upload(blob.object_name, path, len(content))]) == {}
    path.unlink()


async def test_damage_of_each_kind_is_found(
    database: Database, store: BlobStore, spools: SpoolFolder, tmp_path: Path
) -> None:
    writer = make_writer(database, store)
    contents = [b"", b"whole", b"lost", b"shorter", b"flipped", b"x" * 3_000_000]
    blobs = [await store_content(writer, spools, content) for content in contents]
    await store.delete([blobs[2].object_name])
    await _overwrite(store, blobs[3], b"short", tmp_path)
    await _overwrite(store, blobs[4], b"flopped", tmp_path)
    auditor = Auditor(database, store)
    verified = await auditor.verify()
    assert verified.damages == [
        Damage(blobs[2], "missing"),
        Damage(blobs[3], "size"),
        Damage(blobs[4], "content"),
    ]
    assert (verified.checked, verified.size_bytes) == (6, sum(map(len, contents)))
    await auditor.close()


async def test_an_audit_goes_on_where_it_stopped(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    writer = make_writer(database, disk)
    blobs = [await store_content(writer, spools, str(number).encode()) for number in range(7)]
    await disk.delete([blobs[1].object_name, blobs[5].object_name])
    auditor = Auditor(database, disk)
    after, damages, steps = START, list[Damage](), 0
    while (verified := await auditor.verify(after=after, limit=3)).last is not None:
        after, steps = verified.last, steps + 1
        damages += verified.damages
        auditor = Auditor(database, disk)
    assert [damage.blob for damage in damages] == [blobs[1], blobs[5]]
    assert steps == 3


class _VanishingStore(DiskStore):
    """An object goes, with its row, while it is being read."""

    def __init__(self, folder: Path, database: Database) -> None:
        super().__init__(folder)
        self._database = database

    async def get_size(self, name: str) -> int | None:
        async with self._database.transaction() as tx:
            await tx.connection.execute("delete from blob where object_name = %s", (name,))
        await self.delete([name])
        return await super().get_size(name)


async def test_what_was_collected_meanwhile_is_no_damage(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    await store_content(make_writer(database, disk), spools, b"content")
    verified = await Auditor(database, _VanishingStore(disk.folder, database)).verify()
    assert (verified.checked, verified.damages) == (1, [])


async def test_what_was_damaged_is_whole_after_it_was_stored_again(
    database: Database, disk: DiskStore, spools: SpoolFolder
) -> None:
    writer = make_writer(database, disk)
    await store_content(writer, spools, b"content")
    await disk.delete([(await list_blobs(database))[0].object_name])
    auditor = Auditor(database, disk)
    (damage,) = (await auditor.verify()).damages
    async with database.transaction() as tx:
        await mark_damaged(tx, [damage.blob.id], now=NOW)
    await store_content(writer, spools, b"content")
    assert (await auditor.verify()).damages == []


async def test_a_reader_gets_the_range_that_it_asks_for(
    database: Database, store: BlobStore, spools: SpoolFolder
) -> None:
    blob = await store_content(make_writer(database, store), spools, b"0123456789")
    assert await _join(read_blob(store, blob)) == b"0123456789"
    assert await _join(read_blob(store, blob, start=3, end=5)) == b"34"
    assert await _join(read_blob(store, blob, start=8, end=99)) == b"89"
    assert await _join(read_blob(store, blob, start=10)) == b""


async def _join(chunks: AsyncGenerator[bytes, None]) -> bytes:
    return b"".join([chunk async for chunk in chunks])
