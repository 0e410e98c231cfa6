"""A file from somebody else gives rows to our own tables, or nothing: no word of it is ever run."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from backups import TAKEN_AT, rewrite
from contents import contents_of

from headgate.domain.errors import UserError
from headgate.storage.backup.backup import backup
from headgate.storage.backup.restore import restore

pytestmark = pytest.mark.long

Manifest = dict[str, Any]

SCRIPT = """
\\! touch {mark}
create extension if not exists plpython3u;
create function public.evil() returns trigger language plpgsql as
    $$ begin copy (select 1) to program 'touch {mark}'; return new; end $$;
create trigger evil before insert on lease for each row execute function public.evil();
copy lease from program 'touch {mark}';
"""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that only a command of an attacker would make; anybody may write into its folder."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    return folder / "mark"


def list_marks(mark: Path) -> list[Path]:
    return list(mark.parent.iterdir())


@pytest.fixture
async def good(filled_url: str, tmp_path: Path) -> Path:
    await backup(filled_url, tmp_path / "good", taken_at=TAKEN_AT)
    return tmp_path / "good"


def _update(change: Manifest, manifest: Manifest) -> None:
    manifest.update(change)


def _add_table(name: str) -> Callable[[Manifest], object]:
    return lambda manifest: manifest["tables"].update({name: {"columns": ["a"], "rows": 1}})


STRANGE: dict[str, tuple[str, Callable[[Manifest], object], dict[str, bytes]]] = {
    "an unknown table": ("'evil'", _add_table("evil"), {"tables/evil": b"1\n"}),
    "a table of another schema": (
        "'pg_catalog.pg_authid'",
        _add_table("pg_catalog.pg_authid"),
        {"tables/pg_catalog.pg_authid": b"1\n"},
    ),
    "the migrations' ledger": (
        "'headgate_migration'",
        _add_table("headgate_migration"),
        {"tables/headgate_migration": b"1\n"},
    ),
    "a name that is a statement": (
        "lease from program",
        _add_table("lease from program 'touch x' --"),
        {"tables/lease from program 'touch x' --": b"1\n"},
    ),
    "an unknown column": (
        "'lease.evil'",
        lambda manifest: manifest["tables"]["lease"]["columns"].append("evil"),
        {},
    ),
    "an unknown sequence": (
        "'sequence evil'",
        lambda manifest: manifest["sequences"].update(evil={"last_value": 1, "is_called": True}),
        {},
    ),
    "an entry beside the tables": ("'entry evil.sql'", dict, {"evil.sql": SCRIPT.encode()}),
    "a dump of PostgreSQL": ("'entry database.dump'", dict, {"database.dump": b"PGDMP"}),
}


@pytest.mark.parametrize("case", STRANGE)
async def test_what_headgate_does_not_make_is_refused_by_name(
    good: Path, filled_url: str, tmp_path: Path, case: str
) -> None:
    named, change, entries = STRANGE[case]
    before = contents_of(filled_url)
    strange = rewrite(good, tmp_path / "strange", change, entries=entries)
    with pytest.raises(UserError, match="what Headgate does not create") as refused:
        await restore(filled_url, strange, replace=True)
    assert named in refused.value.message
    assert contents_of(filled_url) == before


async def test_a_script_is_no_backup_and_is_not_run(filled_url: str, tmp_path: Path, mark: Path) -> None:
    before = contents_of(filled_url)
    script = SCRIPT.format(mark=mark).encode()
    (tmp_path / "plain.sql").write_bytes(script)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("database.dump", script)
    for name in ("plain.sql", "packed.zip"):
        with pytest.raises(UserError, match="not a complete backup"):
            await restore(filled_url, tmp_path / name, replace=True)
    assert not list_marks(mark)
    assert contents_of(filled_url) == before


@pytest.mark.parametrize("begin", ["", "\\.\n"], ids=["as rows", "after the end of the rows"])
async def test_commands_among_the_rows_are_not_run(
    good: Path, filled_url: str, tmp_path: Path, mark: Path, begin: str
) -> None:
    before = contents_of(filled_url)
    rows = (begin + SCRIPT.format(mark=mark)).encode()
    strange = rewrite(
        good,
        tmp_path / "strange",
        lambda manifest: manifest["tables"]["lease"].update(rows=rows.count(b"\n")),
        entries={"tables/lease": rows},
    )
    with pytest.raises(UserError, match="Nothing was changed"):
        await restore(filled_url, strange, replace=True)
    assert not list_marks(mark)
    assert contents_of(filled_url) == before


async def test_an_entry_that_is_there_twice_is_refused(good: Path, filled_url: str) -> None:
    """Two readers could take two different ones for the table."""
    with warnings.catch_warnings(), zipfile.ZipFile(good, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("tables/lease", b"")
    with pytest.raises(UserError, match="'entry tables/lease'"):
        await restore(filled_url, good, replace=True)


async def test_a_backup_without_one_of_the_tables_is_refused(
    good: Path, filled_url: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(tmp_path / "less", "w") as new:
        for name in old.namelist():
            if name != "tables/lease":
                new.writestr(name, old.read(name))
    with pytest.raises(UserError, match="it lacks tables/lease"):
        await restore(filled_url, tmp_path / "less", replace=True)
    less = rewrite(tmp_path / "good", tmp_path / "lesser", lambda manifest: manifest["sequences"].clear())
    with pytest.raises(UserError, match="it lacks sequence"):
        await restore(filled_url, less, replace=True)


async def test_a_file_cannot_speak_to_the_terminal(good: Path, filled_url: str, tmp_path: Path) -> None:
    newer: Manifest = {
        "headgate": "9\x1b[2J",
        "migrations": [{"number": 9999, "name": "\x1b[2J", "checksum": "x"}],
    }
    table: Manifest = {"tables": {"\x1b[2J": {"columns": ["a"], "rows": 0}}}
    for change in (newer, table):
        strange = rewrite(good, tmp_path / "strange", partial(_update, change))
        with pytest.raises(UserError) as refused:
            await restore(filled_url, strange, replace=True)
        assert "\x1b" not in refused.value.message
