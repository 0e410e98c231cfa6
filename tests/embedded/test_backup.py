"""A backup is verified when it is made; a restore is all or nothing and brings back every row."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headgate.domain.errors import UserError
from headgate.storage.backup import backup, count_rows, verify
from headgate.storage.database import connect
from headgate.storage.dump_file import DUMP
from headgate.storage.migrate import schema_status
from headgate.storage.restore import restore

TAKEN_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def filled_url(database_url: str) -> str:
    """A database with rows that are hard to copy: line breaks, tabs, backslashes, a lone `\\.`."""
    text = "one\ntwo\t\\.\n\\.\nSET transaction_timeout = 0;\nCOPY public.item (id) FROM stdin;\n"
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into lease (name, token, holder, expires_at)"
            " select 'lease ' || n, gen_random_uuid(), %s, '2026-01-01' from generate_series(1, 2500) n",
            (text,),
        )
        connection.execute(
            "insert into lease values (%s, gen_random_uuid(), 'x', '2026-01-01')",
            ("SET transaction_timeout = 0;",),
        )
    return database_url


@pytest.fixture
def empty_url(server_url: str, database_url: str) -> Iterator[str]:
    """A database without any table."""
    name = f"{conninfo_to_dict(database_url)['dbname']}_empty"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield make_conninfo(database_url, dbname=name)
        connection.execute(
            sql.SQL("drop database if exists {} with (force)").format(
                sql.Identifier(f"{name}_before_restore")
            )
        )
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def _rows(url: str) -> dict[str, int]:
    connection = await connect(url)
    async with connection:
        return await count_rows(connection)


def _rewrite(source: Path, target: Path, change: Mapping[str, object]) -> Path:
    """Copy a backup with another manifest."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        manifest = json.loads(old.read("manifest.json"))
        new.writestr("manifest.json", json.dumps(manifest | change))
        new.writestr(DUMP, old.read(DUMP))
    return target


async def test_a_restored_database_has_every_row_of_the_backup(
    filled_url: str, empty_url: str, tmp_path: Path
) -> None:
    parts: list[float] = []
    manifest = await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT, on_progress=parts.append)
    restored = await restore(empty_url, tmp_path / "a", on_progress=parts.append)

    assert manifest.tables["public.lease"] == 2501
    assert await _rows(empty_url) == manifest.tables == await _rows(filled_url)
    assert restored.set_aside is None
    assert (await schema_status(empty_url)).current
    assert parts and all(0 <= part <= 1 for part in parts)
    with psycopg.connect(filled_url) as old, psycopg.connect(empty_url) as new:
        query = "select md5(string_agg(l::text, '' order by name)) from lease l"
        assert old.execute(query).fetchone() == new.execute(query).fetchone()


async def test_a_backup_is_for_its_owner_alone_and_overwrites_nothing(
    database_url: str, tmp_path: Path
) -> None:
    target = tmp_path / "a"
    await backup(database_url, target, taken_at=TAKEN_AT)
    assert target.stat().st_mode & 0o777 == 0o600

    before = target.read_bytes()
    with pytest.raises(UserError, match="exists already"):
        await backup(database_url, target, taken_at=TAKEN_AT)
    assert target.read_bytes() == before
    assert _names(tmp_path) == ["a"]


async def test_a_backup_that_fails_leaves_no_file(empty_url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not one of Headgate"):
        await backup(empty_url, tmp_path / "a", taken_at=TAKEN_AT)
    assert _names(tmp_path) == []


@pytest.mark.parametrize("place", [0.02, 0.3, 0.6, 0.9])
async def test_a_damaged_backup_is_refused_and_changes_nothing(
    filled_url: str, empty_url: str, tmp_path: Path, place: float
) -> None:
    target = tmp_path / "a"
    await backup(filled_url, target, taken_at=TAKEN_AT)
    content = bytearray(target.read_bytes())
    at = int(len(content) * place)
    content[at : at + 16] = bytes(byte ^ 0xFF for byte in content[at : at + 16])
    target.write_bytes(content)

    with pytest.raises(UserError, match="not a whole backup"):
        await restore(empty_url, target)
    assert await _rows(empty_url) == {}


async def test_a_cut_off_backup_is_refused(filled_url: str, empty_url: str, tmp_path: Path) -> None:
    target = tmp_path / "a"
    await backup(filled_url, target, taken_at=TAKEN_AT)
    target.write_bytes(target.read_bytes()[:-2000])
    with pytest.raises(UserError, match="not a whole backup"):
        await restore(empty_url, target)


async def test_a_backup_with_fewer_rows_than_it_counted_is_refused(filled_url: str, tmp_path: Path) -> None:
    manifest = await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    more = {"tables": manifest.tables | {"public.lease": 2502}}
    with pytest.raises(UserError, match="not a whole backup"):
        await verify(_rewrite(tmp_path / "a", tmp_path / "b", more))


async def test_a_backup_of_a_newer_headgate_is_refused(
    database_url: str, empty_url: str, tmp_path: Path
) -> None:
    await backup(database_url, tmp_path / "a", taken_at=TAKEN_AT)
    newer = {"headgate": "99.0", "migrations": [{"number": 9999, "name": "later", "checksum": "x"}]}
    with pytest.raises(UserError, match=r"newer Headgate \(99\.0"):
        await restore(empty_url, _rewrite(tmp_path / "a", tmp_path / "b", newer))
    assert await _rows(empty_url) == {}


async def test_a_restore_over_something_is_refused_unless_asked_for(filled_url: str, tmp_path: Path) -> None:
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    with pytest.raises(UserError, match="not empty"):
        await restore(filled_url, tmp_path / "a")


async def test_a_replacing_restore_keeps_the_old_database_beside(
    filled_url: str, empty_url: str, tmp_path: Path
) -> None:
    manifest = await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    with psycopg.connect(empty_url) as connection:
        connection.execute("create table precious (id int); insert into precious values (1)")
    with psycopg.connect(empty_url) as witness:
        restored = await restore(empty_url, tmp_path / "a", replace=True)
        with pytest.raises(psycopg.OperationalError):
            witness.execute("select 1")

    assert await _rows(empty_url) == manifest.tables
    assert restored.set_aside is not None
    assert await _rows(make_conninfo(empty_url, dbname=restored.set_aside)) == {"public.precious": 1}


async def test_a_replacing_restore_that_fails_loses_nothing(
    server_url: str, filled_url: str, empty_url: str, tmp_path: Path
) -> None:
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    with psycopg.connect(empty_url) as connection:
        connection.execute("create table precious (id int)")
    with zipfile.ZipFile(tmp_path / "a") as old, zipfile.ZipFile(tmp_path / "b", "w") as new:
        new.writestr("manifest.json", old.read("manifest.json"))
        new.writestr(DUMP, old.read(DUMP)[:-3000])

    with pytest.raises(UserError, match="not a whole backup"):
        await restore(empty_url, tmp_path / "b", replace=True)
    assert await _rows(empty_url) == {"public.precious": 0}
    name = conninfo_to_dict(empty_url)["dbname"]
    with psycopg.connect(server_url) as connection:
        left = connection.execute(
            "select datname from pg_database where starts_with(datname, %s)", (f"{name}_restore_",)
        ).fetchall()
    assert left == []


async def test_what_is_no_backup_is_named(empty_url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no file"):
        await restore(empty_url, tmp_path / "nowhere")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UserError, match="not a whole backup"):
        await restore(empty_url, tmp_path / "text")
