"""Killed with -9 between any two steps of storing: nothing is lost, half readable, or left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from blob_rows import NOW, content_of, do, list_blobs, names_in
from storing_child import CONTENTS, store_contents

from headgate.kernel.files_settings import FilesSettings
from headgate.storage.blobs.collector import collect, sweep_orphans
from headgate.storage.blobs.opening import open_store
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.blobs.store import BlobStore
from headgate.storage.database import Database

CHILD = Path(__file__).with_name("storing_child.py")
KILLED = -9
MAX_STEPS = 80


@contextmanager
def _child(url: str, folder: Path, settings: FilesSettings) -> Generator[Callable[[int], int], None, None]:
    """Yield a function that stores in another process, kills that at a step, and returns how it ended."""
    given: dict[str, str] = {}
    if settings.url:
        assert settings.s3_access_key is not None
        assert settings.s3_secret_key is not None
        given = {
            "url": settings.url,
            "s3_endpoint": settings.s3_endpoint,
            "s3_access_key": settings.s3_access_key.get_secret_value(),
            "s3_secret_key": settings.s3_secret_key.get_secret_value(),
        }
    command = [sys.executable, str(CHILD), url, str(folder), json.dumps(given)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        requests, answers = child.stdin, child.stdout

        def kill_at(step: int) -> int:
            requests.write(f"{step}\n")
            requests.flush()
            return int(answers.readline())

        yield kill_at


async def _assert_whole(database: Database, store: BlobStore) -> int:
    """Everything that has a row can be read; return how many there are."""
    blobs = await list_blobs(database)
    contents = [await content_of(store, blob) for blob in blobs]
    assert set(contents) <= set(CONTENTS.values())
    assert len(set(contents)) == len(contents)
    return len(blobs)


async def _none(names: Sequence[str]) -> list[str]:
    return []


async def _clean_up(database: Database, store: BlobStore, folder: Path) -> None:
    """What the next start and the collector do, in the time that it takes."""
    spools = SpoolFolder(folder / "spool", machine="here")
    await spools.clean_up(_none)
    await spools.close()
    await do(database, "expire_uploads")
    far = timedelta(days=1000)
    await collect(database, store, now=NOW, keep_unused=far)
    await sweep_orphans(database, store, now=NOW)
    await collect(database, store, now=NOW + timedelta(days=2), keep_unused=far)


async def _kill_everywhere(database: Database, url: str, folder: Path, settings: FilesSettings) -> int:
    """Kill a process at each of its steps, look, let the next one finish, and look again; return how many."""
    with _child(url, folder, settings) as kill_at:
        return await _kill_at_each(kill_at, database, url, folder, settings)


async def _kill_at_each(
    kill_at: Callable[[int], int], database: Database, url: str, folder: Path, settings: FilesSettings
) -> int:
    store = open_store(settings, folder)
    await store.check()
    for step in range(1, MAX_STEPS):
        code = kill_at(step)
        assert code in (0, KILLED)
        await _assert_whole(database, store)
        if step % 2:
            # Every second time the next process finds what was left, and goes on with it.
            await _clean_up(database, store, folder)
            assert await names_in(store) == sorted(blob.object_name for blob in await list_blobs(database))
        await store_contents(url, folder, 0, settings)
        assert await _assert_whole(database, store) == len(CONTENTS)
        await _clean_up(database, store, folder)
        blobs = await list_blobs(database)
        assert await names_in(store) == sorted(blob.object_name for blob in blobs)
        assert list((folder / "spool").iterdir()) == []
        if code == 0:
            return step
        async with database.transaction() as tx:
            await tx.connection.execute("delete from blob")
        await store.delete([blob.object_name for blob in blobs])
    raise AssertionError("the process has more steps than expected")


@pytest.mark.timeout(600)
async def test_killed_at_any_step_with_files_on_disk(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    assert await _kill_everywhere(database, database_url, tmp_path, FilesSettings()) > 20


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_killed_at_any_step_with_files_in_a_bucket(
    database: Database, database_url: str, tmp_path: Path, bucket_settings: FilesSettings
) -> None:
    assert await _kill_everywhere(database, database_url, tmp_path, bucket_settings) > 10
