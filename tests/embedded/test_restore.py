"""A restore is all or nothing: what was there stays until the very end, and is kept beside it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from backups import TAKEN_AT, rewrite
from contents import contents_of, rows_of

from headgate.domain.errors import UserError
from headgate.storage import migrate as migrations
from headgate.storage.backup.backup import backup
from headgate.storage.backup.restore import SET_ASIDE, restore
from headgate.storage.describe import describe_schema
from headgate.storage.migrate import Migration, list_migrations, migrate

pytestmark = pytest.mark.long

RESTORING = Path(__file__).with_name("restoring.py")


async def test_a_backup_of_a_newer_headgate_is_refused(
    database_url: str, empty_url: str, tmp_path: Path
) -> None:
    await backup(database_url, tmp_path / "a", taken_at=TAKEN_AT)
    newer = {"headgate": "99.0", "migrations": [{"number": 9999, "name": "later", "checksum": "x"}]}
    with pytest.raises(UserError, match=r"newer Headgate \(99\.0"):
        await restore(empty_url, rewrite(tmp_path / "a", tmp_path / "b", lambda m: m.update(newer)))
    assert rows_of(empty_url) == {}


async def test_a_backup_of_an_older_headgate_is_loaded_and_then_migrated(
    filled_url: str, empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next version changes rows that are there: it must find those of the backup."""
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    known = list_migrations()
    added = Migration(
        len(known) + 1,
        "holders",
        "alter table lease add column length int; update lease set length = length(holder);"
        " alter table lease alter length set not null; create table added (id int);",
    )
    monkeypatch.setattr(migrations, "list_migrations", lambda: [*known, added])
    restored = await restore(empty_url, tmp_path / "a")

    assert [migration.name for migration in restored.migrated] == ["holders"]
    with psycopg.connect(empty_url) as connection:
        assert connection.execute(
            "select count(*), bool_and(length = length(holder)) from lease"
        ).fetchone() == (2501, True)
    await migrate(filled_url)
    assert rows_of(empty_url) == rows_of(filled_url)


async def test_a_restore_over_something_is_refused_unless_asked_for(filled_url: str, tmp_path: Path) -> None:
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    with pytest.raises(UserError, match="not empty"):
        await restore(filled_url, tmp_path / "a")


async def test_a_replacing_restore_keeps_what_was_there_beside(
    filled_url: str, empty_url: str, tmp_path: Path
) -> None:
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    with psycopg.connect(empty_url) as connection:
        connection.execute("create table precious (id int); insert into precious values (1)")
    with psycopg.connect(empty_url) as witness:
        restored = await restore(empty_url, tmp_path / "a", replace=True)
        with pytest.raises(psycopg.OperationalError):
            witness.execute("select 1")

    assert restored.set_aside == SET_ASIDE
    kept = {f"{SET_ASIDE}.precious": ['{"id":1}']}
    assert rows_of(empty_url) == rows_of(filled_url) | kept
    assert await describe_schema(empty_url) == await describe_schema(filled_url)


async def test_the_next_restore_drops_what_the_last_one_kept(filled_url: str, tmp_path: Path) -> None:
    before = contents_of(filled_url)
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    for _ in range(2):
        await restore(filled_url, tmp_path / "a", replace=True)
    assert {name.partition(".")[0] for name in rows_of(filled_url)} == {"public", SET_ASIDE}
    await restore(filled_url, tmp_path / "a", replace=True, keep_old=False)
    assert contents_of(filled_url) == before


async def test_a_backup_holds_nothing_of_what_a_restore_set_aside(filled_url: str, tmp_path: Path) -> None:
    first = await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    await restore(filled_url, tmp_path / "a", replace=True)
    second = await backup(filled_url, tmp_path / "b", taken_at=TAKEN_AT)
    assert first == second


async def test_a_replacing_restore_that_fails_loses_nothing(filled_url: str, tmp_path: Path) -> None:
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    with psycopg.connect(filled_url) as connection:
        connection.execute("insert into lease values ('later', gen_random_uuid(), 'x', '2026-01-01')")
    before = contents_of(filled_url)
    # A row that refers to nothing is found when all is loaded.
    orphan = rewrite(
        tmp_path / "a",
        tmp_path / "b",
        lambda manifest: manifest["tables"]["target_list_member"].update(rows=1),
        entries={"tables/target_list_member": f"{uuid4()}\t{uuid4()}\t1\n".encode()},
    )
    with pytest.raises(UserError, match="violates foreign key"):
        await restore(filled_url, orphan, replace=True)
    assert contents_of(filled_url) == before


@pytest.mark.long
@pytest.mark.parametrize("place", [0.31, 0.99])
async def test_a_restore_that_is_killed_in_the_middle_loses_nothing(
    filled_url: str, tmp_path: Path, place: float
) -> None:
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    with psycopg.connect(filled_url) as connection:
        connection.execute("insert into lease values ('later', gen_random_uuid(), 'x', '2026-01-01')")
    before = contents_of(filled_url)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, str(RESTORING), filled_url, str(tmp_path / "a"), str(place)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    assert await child.stdout.readline() == b"in the middle\n"
    assert contents_of(filled_url) == before
    child.kill()
    await child.communicate()

    assert contents_of(filled_url) == before
    await restore(filled_url, tmp_path / "a", replace=True, keep_old=False)
    after = contents_of(filled_url)
    assert len(after["public.lease"]) == len(before["public.lease"]) - 1
    assert after.keys() == before.keys()
