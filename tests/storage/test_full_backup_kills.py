"""Killed at any moment, a backup leaves the one before or a new one; a restore the old state or the new."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from instances import open_instance, restore_from

from headgate.storage.backup.folder import find_backup, hash_file, read_objects

CHILD = Path(__file__).with_name("backup_child.py")
KILLED = -signal.SIGKILL
MAX_STEPS = 200

pytestmark = [pytest.mark.long, pytest.mark.once, pytest.mark.timeout(900)]


@contextmanager
def child(what: str, url: str, data: Path, backups: Path) -> Generator[Callable[[int], int], None, None]:
    """Yield what works up to a step, and returns how that ended."""
    with subprocess.Popen(
        [sys.executable, str(CHILD), what, url, str(data), str(backups)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def work_to(step: int) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{step}\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield work_to


def assert_whole(backups: Path) -> str:
    """Return the name of the newest backup, which has everything that it should."""
    folder, backup = find_backup(backups)
    dump = folder.dump_of(backup.name)
    assert hash_file(dump) == backup.dump_sha256
    objects = list(read_objects(dump))
    assert len(objects) == backup.files
    for each in objects:
        assert hash_file(folder.files / each.name) == each.sha256.hex()
    return backup.name


async def test_a_backup_that_is_killed_at_any_step_leaves_a_whole_one(
    database_url: str, tmp_path: Path
) -> None:
    data, backups, kept = tmp_path / "data", tmp_path / "backups", tmp_path / "kept"
    async with open_instance(database_url, data) as instance:
        await instance.keep("one")
        await instance.keep("two")
        await instance.back_up(backups, second=1)
        await instance.remove("two")
        await instance.keep("three")
        shutil.copytree(backups, kept)
        names: set[str] = set()
        code = step = 0
        with child("backup", database_url, data, backups) as kill_at:
            for step in range(1, MAX_STEPS):
                code = kill_at(step)
                assert code in (0, KILLED)
                names.add(assert_whole(backups))
                await instance.back_up(backups, second=3, keep=1)
                assert assert_whole(backups) == "20260301T120003Z"
                assert not (backups / "copying").exists()
                assert len([path for path in backups.iterdir() if path.name.startswith("2026")]) == 1
                if code == 0:
                    break
                shutil.rmtree(backups)
                shutil.copytree(kept, backups)
        assert code == 0
        assert step > 10
        assert names == {"20260301T120001Z", "20260301T120002Z"}


async def test_a_restore_that_is_killed_at_any_step_leaves_the_old_or_the_new(
    database_url: str, tmp_path: Path
) -> None:
    data, backups = tmp_path / "data", tmp_path / "backups"
    async with open_instance(database_url, data) as instance:
        await instance.keep("new one")
        await instance.keep("new two")
        await instance.back_up(backups, second=1)
        await instance.remove("new one")
        await instance.remove("new two")
        async with instance.database.transaction() as tx:
            await tx.connection.execute("delete from blob")
        await instance.keep("old")
        await instance.back_up(backups, second=2)
        (old,) = [each.name for each in read_objects(backups / "20260301T120002Z" / "database.backup")]
    seen: set[str] = set()
    code = step = 0
    with child("restore", database_url, data, backups) as kill_at:
        for step in range(1, MAX_STEPS):
            for path in (data / "blobs").glob("??/*"):
                if path.name not in old:
                    path.unlink()
            code = kill_at(step)
            assert code in (0, KILLED)
            async with open_instance(database_url, data) as instance:
                contents = await instance.contents()
            assert contents in (["old"], ["new one", "new two"])
            seen.add(contents[0])
            await restore_from(backups / "20260301T120001Z", database_url, data)
            async with open_instance(database_url, data) as instance:
                assert await instance.contents() == ["new one", "new two"]
            assert not (data / "blobs" / "restoring").exists()
            if code == 0:
                break
            await restore_from(backups / "20260301T120002Z", database_url, data)
    assert code == 0
    assert step > 10
    assert seen == {"old", "new one"}
