"""Backups of everything: what comes back is what was there, or nothing changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from instances import NOW, Instance, open_instance, restore_from

from headgate.domain.errors import UserError
from headgate.ingest.storing.backups import BackupProgress
from headgate.kernel.files_settings import FilesSettings
from headgate.storage.backup.folder import BackupFolder, find_backup
from headgate.storage.backup.restore import restore
from headgate.storage.blobs.blobs import Blob
from headgate.storage.blobs.collector import collect
from headgate.storage.blobs.store import StoreTrouble
from headgate.storage.errors import DatabaseAway

# Files are kept in a folder; that a bucket does the same is left to the full set.
pytestmark = pytest.mark.sampled(every=2)


@pytest.fixture(params=["disk", "s3"])
def settings(request: pytest.FixtureRequest) -> FilesSettings:
    return request.getfixturevalue("bucket_settings") if request.param == "s3" else FilesSettings()


@pytest.fixture
async def instance(database_url: str, tmp_path: Path, settings: FilesSettings) -> AsyncIterator[Instance]:
    async with open_instance(database_url, tmp_path / "data", settings) as instance:
        yield instance


@pytest.fixture
async def on_disk(database_url: str, tmp_path: Path) -> AsyncIterator[Instance]:
    async with open_instance(database_url, tmp_path / "data") as instance:
        yield instance


async def collect_at(instance: Instance, days: int) -> int:
    """Let the collector take its turn; return how many files it deletes."""
    collected = await collect(
        instance.database,
        instance.files.store,
        now=NOW + timedelta(days=days),
        keep_unused=timedelta(days=1),
    )
    return collected.deleted


def collect_elsewhere(url: str, folder: Path) -> int:
    async def work() -> int:
        async with open_instance(url, folder) as instance:
            return await collect_at(instance, 9)

    return asyncio.run(work())


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def object_in(folder: Path, blob: Blob) -> Path:
    return folder / "files" / blob.object_name


def overwrite(path: Path) -> None:
    """Damage a file without a change of its size."""
    path.write_bytes(b"!" * path.stat().st_size)


async def test_a_backup_comes_back_into_an_empty_instance(
    instance: Instance, backups: Path, empty_url: str, tmp_path: Path
) -> None:
    for text in ("one", "two", ""):
        await instance.keep(text)
    done = await instance.back_up(backups)
    assert (done.backup.files, done.backup.size_bytes, done.copied, done.backup.damaged) == (3, 6, 3, [])
    restored = await restore_from(backups, empty_url, tmp_path / "other")
    assert (restored.copied, restored.database.set_aside) == (3, None)
    async with open_instance(empty_url, tmp_path / "other") as other:
        assert await other.contents() == ["", "one", "two"]
        assert await other.states() == dict.fromkeys(["", "one", "two"], "stored")


@pytest.mark.sampled(every=2)
async def test_a_backup_comes_back_over_the_instance_that_it_was_taken_of(
    instance: Instance, database_url: str, backups: Path, tmp_path: Path, settings: FilesSettings
) -> None:
    one = await instance.keep("one")
    await instance.keep("two")
    await instance.back_up(backups)
    await instance.remove("two")
    await instance.keep("three")
    await instance.files.store.delete([one.object_name])
    restored = await restore_from(backups, database_url, tmp_path / "data", settings)
    assert restored.copied == 1
    assert await instance.contents() == ["one", "two"]
    assert await instance.states() == {"one": "stored", "two": "stored"}
    await instance.files.open()


async def test_a_damaged_file_of_the_store_is_repaired_by_a_restore(
    on_disk: Instance, database_url: str, backups: Path, tmp_path: Path
) -> None:
    blob = await on_disk.keep("one")
    await on_disk.back_up(backups)
    overwrite(tmp_path / "data" / "blobs" / blob.object_name)
    assert (await restore_from(backups, database_url, tmp_path / "data")).copied == 1
    assert await on_disk.contents() == ["one"]


async def test_a_backup_of_another_instance_takes_over_the_store_that_is_there(
    instance: Instance, backups: Path, empty_url: str, tmp_path: Path
) -> None:
    """Somebody started Headgate on the new machine, and restores then."""
    await instance.keep("one")
    await instance.back_up(backups)
    async with open_instance(empty_url, tmp_path / "new") as new:
        await new.keep("later")
        await restore_from(backups, empty_url, tmp_path / "new")
    async with open_instance(empty_url, tmp_path / "new") as new:
        assert await new.contents() == ["one"]


async def test_the_next_backup_copies_only_what_is_new(instance: Instance, backups: Path) -> None:
    first = await instance.keep("one")
    await instance.back_up(backups, second=1)
    before = object_in(backups, first).stat()
    await instance.keep("two")
    done = await instance.back_up(backups, second=2)
    assert (done.backup.files, done.copied, done.copied_bytes) == (2, 1, 3)
    after = object_in(backups, first).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_a_backup_shares_no_file_with_the_store(
    on_disk: Instance, backups: Path, tmp_path: Path
) -> None:
    """What damages one must not damage the other."""
    blob = await on_disk.keep("one")
    await on_disk.back_up(backups)
    assert not object_in(backups, blob).samefile(tmp_path / "data" / "blobs" / blob.object_name)


@pytest.mark.long
async def test_older_backups_can_be_restored_until_they_give_way(
    on_disk: Instance, backups: Path, empty_url: str, tmp_path: Path
) -> None:
    first = await on_disk.keep("one")
    oldest = (await on_disk.back_up(backups, second=1)).backup.name
    await on_disk.remove("one")
    for days in (0, 2, 4):
        await collect_at(on_disk, days)
    await on_disk.keep("two")
    assert (await on_disk.back_up(backups, second=2, keep=2)).removed == []
    assert object_in(backups, first).exists()
    await restore_from(backups / oldest, empty_url, tmp_path / "other")
    async with open_instance(empty_url, tmp_path / "other") as other:
        assert await other.contents() == ["one"]
    assert (await on_disk.back_up(backups, second=3, keep=2)).removed == [oldest]
    assert not object_in(backups, first).exists()
    assert not (backups / oldest).exists()


async def test_damaged_files_are_named_and_the_rest_is_backed_up(
    instance: Instance, backups: Path, empty_url: str, tmp_path: Path
) -> None:
    whole, lost = await instance.keep("whole"), await instance.keep("lost")
    await instance.files.store.delete([lost.object_name])
    done = await instance.back_up(backups)
    assert done.backup.damaged == [lost.object_name]
    assert object_in(backups, whole).exists()
    restored = await restore_from(backups, empty_url, tmp_path / "other")
    assert restored.damaged == [lost.object_name]
    async with open_instance(empty_url, tmp_path / "other") as other:
        assert await other.states() == {"lost": "wanted", "whole": "stored"}


async def test_a_store_that_is_not_there_is_not_backed_up_as_empty(
    on_disk: Instance, backups: Path, tmp_path: Path
) -> None:
    await on_disk.keep("one")
    good = await on_disk.back_up(backups, second=1)
    (tmp_path / "data" / "blobs").rename(tmp_path / "unmounted")
    with pytest.raises(StoreTrouble, match="its mark is missing"):
        await on_disk.back_up(backups, second=2)
    assert find_backup(backups)[1] == good.backup


async def test_a_backup_can_be_verified_and_repaired(on_disk: Instance, backups: Path) -> None:
    blob = await on_disk.keep("one")
    await on_disk.back_up(backups, second=1)
    overwrite(object_in(backups, blob))
    assert (await on_disk.back_up(backups, second=2)).copied == 0
    assert (await on_disk.back_up(backups, second=3, verify=True)).copied == 1
    assert object_in(backups, blob).read_bytes() == b"one"


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("fault", ["missing", "shorter", "damaged"])
async def test_a_backup_that_is_not_whole_is_refused_unless_asked_for(
    on_disk: Instance, backups: Path, empty_url: str, tmp_path: Path, fault: str
) -> None:
    whole, bad = await on_disk.keep("whole"), await on_disk.keep("bad")
    await on_disk.back_up(backups)
    path = object_in(backups, bad)
    {"missing": path.unlink, "shorter": lambda: path.write_bytes(b"b"), "damaged": lambda: overwrite(path)}[
        fault
    ]()
    async with open_instance(empty_url, tmp_path / "other") as other:
        await other.keep("before")
        with pytest.raises(UserError, match="1 files of the backup are missing or damaged") as raised:
            await restore_from(backups, empty_url, tmp_path / "other")
        assert "--skip-damaged" in raised.value.remedy
        assert await other.contents() == ["before"]
        restored = await restore_from(backups, empty_url, tmp_path / "other", skip_damaged=True)
        assert restored.damaged == [bad.object_name]
        assert await other.states() == {"bad": "wanted", "whole": "stored"}
        assert await other.files.store.get_size(whole.object_name) == 5


async def test_a_damaged_dump_is_refused(
    on_disk: Instance, database_url: str, backups: Path, tmp_path: Path
) -> None:
    done = await on_disk.back_up(backups)
    dump = BackupFolder(backups).dump_of(done.backup.name)
    dump.write_bytes(dump.read_bytes()[:-1] + b"!")
    with pytest.raises(UserError, match="missing or damaged"):
        await restore_from(backups, database_url, tmp_path / "data")


async def test_a_backup_that_was_broken_off_is_not_restored(
    on_disk: Instance, database_url: str, backups: Path, tmp_path: Path
) -> None:
    good = await on_disk.back_up(backups, second=1)
    broken = await on_disk.back_up(backups, second=2)
    (backups / broken.backup.name / "backup.json").unlink()
    assert find_backup(backups)[1] == good.backup
    with pytest.raises(UserError, match="not complete"):
        await restore_from(backups / broken.backup.name, database_url, tmp_path / "data")
    await on_disk.back_up(backups, second=3)
    assert not (backups / broken.backup.name).exists()


async def test_a_folder_with_other_things_in_it_is_refused(on_disk: Instance, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").touch()
    with pytest.raises(UserError, match="is not empty"):
        await on_disk.back_up(home)
    with pytest.raises(UserError, match="holds no backup"):
        find_backup(home)
    assert [path.name for path in home.iterdir()] == ["letter.txt"]


async def test_two_backups_never_share_a_folder_at_once(on_disk: Instance, backups: Path) -> None:
    await on_disk.back_up(backups, second=1)
    with (
        BackupFolder(backups).begin("20260301T120009Z"),
        pytest.raises(UserError, match="Another backup"),
    ):
        await on_disk.back_up(backups, second=2)


async def test_the_files_of_another_database_are_never_replaced(
    on_disk: Instance, backups: Path, empty_url: str, tmp_path: Path
) -> None:
    await on_disk.back_up(backups)
    other = tmp_path / "other" / "blobs"
    other.mkdir(parents=True)
    (other / "headgate-store").write_text("0198b7a0-0000-7000-8000-000000000000")
    with pytest.raises(StoreTrouble, match="files of another Headgate database"):
        await restore_from(backups, empty_url, tmp_path / "other")


async def test_nothing_is_deleted_while_a_running_instance_is_restored(
    on_disk: Instance, database_url: str, backups: Path, tmp_path: Path
) -> None:
    """Its collector is about to delete a file that the backup names and the store still has."""
    await on_disk.keep("one")
    await on_disk.back_up(backups)
    await on_disk.remove("one")
    for days in (0, 2):
        await collect_at(on_disk, days)
    collected: list[int] = []

    def when_files_are_there(done: int, total: int) -> None:
        if done == total:
            with ThreadPoolExecutor(1) as elsewhere:
                collected.append(
                    elsewhere.submit(collect_elsewhere, database_url, tmp_path / "data").result()
                )

    await restore_from(
        backups, database_url, tmp_path / "data", shown=BackupProgress(on_files=when_files_are_there)
    )
    assert collected == [0]
    assert await on_disk.contents() == ["one"]
    assert await on_disk.states() == {"one": "stored"}


async def test_a_running_instance_goes_on_with_what_was_restored(
    on_disk: Instance, database_url: str, backups: Path, tmp_path: Path
) -> None:
    await on_disk.keep("one")
    await on_disk.back_up(backups)
    spool = await on_disk.files.spools.open("under way", version="1")
    await spool.append(b"two")
    await spool.finish()
    await restore_from(backups, database_url, tmp_path / "data")
    blob = None
    while blob is None:
        # Each connection that was open before is found to be gone once, as after a restart of the server.
        with suppress(DatabaseAway):
            blob = await on_disk.files.writer.store(spool)
    await spool.discard()
    assert await on_disk.contents() == ["one", "two"]
    assert blob.object_name in await on_disk.objects()


async def test_a_restored_database_without_files_starts_on_an_empty_store(
    on_disk: Instance, backups: Path, empty_url: str, tmp_path: Path
) -> None:
    done = await on_disk.back_up(backups)
    await restore(empty_url, BackupFolder(backups).dump_of(done.backup.name))
    async with open_instance(empty_url, tmp_path / "other") as other:
        assert await other.contents() == []
