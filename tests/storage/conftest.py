"""Stores and spools for the tests of stored content."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from moto_bucket import make_bucket, serve_s3
from pydantic import SecretStr

from headgate.kernel.files_settings import FilesSettings
from headgate.storage.blobs.bucket import BucketStore
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.blobs.store import BlobStore


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of a real S3 server."""
    with serve_s3() as endpoint:
        yield endpoint


@pytest.fixture
def bucket_settings(s3_endpoint: str) -> FilesSettings:
    """The settings of a bucket of its own."""
    name = f"files-{uuid.uuid4().hex[:12]}"
    make_bucket(s3_endpoint, name)
    return FilesSettings(
        url=f"s3://{name}/kept/here",
        s3_endpoint=s3_endpoint,
        s3_access_key=SecretStr("AKIAEXAMPLE"),
        s3_secret_key=SecretStr("wJalrXUtnFEMI"),
    )


@pytest.fixture
def bucket_environment(bucket_settings: FilesSettings) -> dict[str, str]:
    """The same settings, as a process finds them."""
    assert bucket_settings.s3_access_key is not None
    assert bucket_settings.s3_secret_key is not None
    return {
        "HEADGATE_FILES_URL": bucket_settings.url,
        "HEADGATE_FILES_S3_ENDPOINT": bucket_settings.s3_endpoint,
        "HEADGATE_FILES_S3_ACCESS_KEY": bucket_settings.s3_access_key.get_secret_value(),
        "HEADGATE_FILES_S3_SECRET_KEY": bucket_settings.s3_secret_key.get_secret_value(),
    }


@pytest.fixture
async def bucket(bucket_settings: FilesSettings) -> AsyncIterator[BlobStore]:
    store = BucketStore(bucket_settings)
    yield store
    await store.close()


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[DiskStore]:
    folder = tmp_path / "blobs"
    folder.mkdir()
    store = DiskStore(folder)
    yield store
    await store.close()


@pytest.fixture
async def spools(tmp_path: Path) -> AsyncIterator[SpoolFolder]:
    folder = SpoolFolder(tmp_path / "spool", machine="here", sync_every_bytes=4096)
    yield folder
    await folder.close()
