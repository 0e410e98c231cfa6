"""Folders and buckets keep the same rules, and say what is wrong with them."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from uuid import UUID

import pytest
from moto_bucket import make_bucket, make_keys, serve_s3
from pydantic import SecretStr

from headgate.kernel.files_settings import FilesSettings
from headgate.storage.blobs.bucket import BucketStore
from headgate.storage.blobs.disk import DiskStore, explain_folder_error
from headgate.storage.blobs.opening import open_store
from headgate.storage.blobs.store import BlobStore, DiskFull, StoreAway, StoreTrouble, Upload, name_object
from headgate.testing.conformance.stores import StoreConformance

pytestmark = pytest.mark.once

NAME = name_object(bytes(32), upload_id=UUID(int=1))


class TestDisk(StoreConformance):
    @pytest.fixture
    def store(self, disk: DiskStore) -> BlobStore:
        return disk


class TestDiskWithoutLinks(StoreConformance):
    """Another disk, or a file system that has no links: files are copied."""

    @pytest.fixture
    def store(self, disk: DiskStore, monkeypatch: pytest.MonkeyPatch) -> BlobStore:
        monkeypatch.setattr(os, "link", _refuse_links)
        return disk


class TestBucket(StoreConformance):
    @pytest.fixture
    def store(self, bucket: BlobStore) -> BlobStore:
        return bucket


def _refuse_links(source: Path, target: Path) -> None:
    if not target.parent.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def _tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_an_object_shares_the_file_of_its_spool(disk: DiskStore, tmp_path: Path) -> None:
    spool = tmp_path / "spooled"
    spool.write_bytes(b"content")
    assert await disk.put([Upload(NAME, spool, 7)]) == {}
    assert (disk.folder / NAME).samefile(spool)


async def test_a_put_that_was_interrupted_can_be_repeated(disk: DiskStore, tmp_path: Path) -> None:
    spool = tmp_path / "spooled"
    spool.write_bytes(b"content")
    assert await disk.put([Upload(NAME, spool, 7)]) == {}
    assert await disk.put([Upload(NAME, spool, 7)]) == {}
    assert _tree(disk.folder) == [NAME]


async def test_a_full_disk_leaves_nothing_behind(
    disk: DiskStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", _refuse_links)
    spool = tmp_path / "spooled"
    spool.write_bytes(b"content")
    monkeypatch.setattr("shutil.copyfile", _copy_to_full)
    failed = await disk.put([Upload(NAME, spool, 7)])
    assert isinstance(failed[NAME], DiskFull)
    assert _tree(disk.folder) == []


def _copy_to_full(source: Path, target: Path) -> None:
    target.write_bytes(b"con")
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"tent")


async def test_the_leftover_of_a_broken_copy_is_listed_and_deleted(disk: DiskStore) -> None:
    part = disk.folder / f"{NAME}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"con")
    assert [names async for names in disk.list_names()] == [[NAME]]
    await disk.delete([NAME])
    assert _tree(disk.folder) == []


async def test_files_of_others_in_the_folder_are_left_alone(disk: DiskStore) -> None:
    for name in ("00/holiday.jpg", "notes.txt", "letters/a.txt"):
        path = disk.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [names async for names in disk.list_names()] == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "00/x", "/etc/passwd", ""])
async def test_a_store_opens_nothing_but_objects(disk: DiskStore, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of an object"):
        await disk.get_size(name)


async def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "unmounted")
    with pytest.raises(StoreTrouble, match=r"unmounted, does not exist\. .*mount its disk"):
        await store.check()
    spool = tmp_path / "spooled"
    spool.touch()
    assert isinstance((await store.put([Upload(NAME, spool, 0)]))[NAME], StoreAway)
    assert not (tmp_path / "unmounted").exists()


async def test_a_folder_without_the_right_to_write_is_named() -> None:
    with pytest.raises(StoreTrouble, match="may not write"):
        await DiskStore(Path("/sys/kernel")).check()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EROFS, "read-only disk. Mount the disk for writing"),
        (errno.EACCES, "may not write"),
        (errno.ENOSPC, "is full"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_each_fault_of_a_folder_has_its_words(number: int, words: str) -> None:
    assert words in str(explain_folder_error(OSError(number, os.strerror(number)), Path("/mnt/files")))


async def test_a_healthy_bucket_passes_its_check(bucket: BlobStore) -> None:
    await bucket.check()
    assert [names async for names in bucket.list_names()] == []


async def test_a_bucket_that_is_not_there_is_named(bucket_settings: FilesSettings) -> None:
    store = BucketStore(bucket_settings.model_copy(update={"url": "s3://no-such-bucket"}))
    with pytest.raises(StoreTrouble, match="there is no bucket 'no-such-bucket'"):
        await store.check()


async def test_a_server_that_does_not_answer_is_named_without_keys(bucket_settings: FilesSettings) -> None:
    settings = bucket_settings.model_copy(update={"s3_endpoint": "http://127.0.0.1:9"})
    with pytest.raises(StoreTrouble, match="HEADGATE_FILES_S3_ENDPOINT") as caught:
        await BucketStore(settings).check()
    _assert_without_keys(caught.value, settings)


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (["s3:ListAllMyBuckets"], "The bucket cannot be listed: .* refuses the keys"),
        (["s3:ListBucket", "s3:GetObject"], "The bucket cannot be written: .* refuses the keys"),
    ],
)
async def test_keys_that_may_not_do_enough_are_told(actions: list[str], words: str) -> None:
    with serve_s3() as endpoint:
        make_bucket(endpoint, "files-guarded")
        access_key, secret_key = make_keys(endpoint, actions=actions)
        settings = FilesSettings(
            url="s3://files-guarded",
            s3_endpoint=endpoint,
            s3_access_key=SecretStr(access_key),
            s3_secret_key=SecretStr(secret_key),
        )
        with pytest.raises(StoreTrouble, match=words) as caught:
            await BucketStore(settings).check()
        _assert_without_keys(caught.value, settings)
        wrong = settings.model_copy(update={"s3_secret_key": SecretStr("wrong-secret")})
        with pytest.raises(StoreTrouble, match="refuses the keys") as caught:
            await BucketStore(wrong).check()
        _assert_without_keys(caught.value, wrong)


def _assert_without_keys(error: BaseException, settings: FilesSettings) -> None:
    """Look for the keys in an error and in everything that a traceback of it would print."""
    assert settings.s3_access_key is not None
    assert settings.s3_secret_key is not None
    assert error.__cause__ is None
    assert error.__suppress_context__
    for key in (settings.s3_access_key, settings.s3_secret_key):
        assert key.get_secret_value() not in f"{error} {error!r}"


def test_the_settings_choose_the_store(tmp_path: Path) -> None:
    assert open_store(FilesSettings(), tmp_path).place == str(tmp_path / "blobs")
    assert open_store(FilesSettings(url=str(tmp_path / "far")), tmp_path).place == str(tmp_path / "far")
    assert not (tmp_path / "far").exists()
    assert open_store(FilesSettings(url="s3://files/here"), tmp_path).place == "s3://files/here"
