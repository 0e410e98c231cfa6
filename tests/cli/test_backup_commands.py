"""`headgate backup` and `headgate restore`: what a person sees, and is asked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from ledger import Ledger
from typer.testing import CliRunner, Result

from headgate.app.parts import open_parts
from headgate.cli.main import app
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def keep(url: str, content: bytes) -> str:
    """Store a file; return the name of its object."""

    async def store() -> str:
        async with open_parts(load_settings(), url, clock=RealClock(), connectors={}) as parts:
            spool = await parts.files.spools.open("a", version="1")
            await spool.append(content)
            await spool.finish()
            blob = await parts.files.writer.store(spool)
            await spool.discard()
        return blob.object_name

    return asyncio.run(store())


@pytest.fixture
def name(ledger: Ledger) -> str:
    """The object of a stored file."""
    return keep(ledger.url, b"content")


@pytest.mark.long
def test_what_was_backed_up_comes_back(ledger: Ledger, name: str, tmp_path: Path) -> None:
    backups = tmp_path / "backups"
    written = run("backup", backups, "--json")
    assert written.exit_code == 0, written.stderr
    document = json.loads(written.stdout)
    assert (document["backup"]["files"], document["copied_bytes"]) == (1, 7)
    (tmp_path / "blobs" / name).unlink()

    unasked = run("restore", backups)
    assert unasked.exit_code == 1
    assert "1 files, 7 B" in unasked.stderr
    assert "--yes" in unasked.stderr
    assert not (tmp_path / "blobs" / name).exists()

    restored = run("restore", backups, "--yes")
    assert restored.exit_code == 0, restored.stderr
    assert "1 file; 7 B were copied" in restored.stdout
    assert "headgate_before_restore" in restored.stdout
    assert (tmp_path / "blobs" / name).read_bytes() == b"content"
    assert run("audit").exit_code == 0


def test_a_backup_says_what_is_damaged_and_fails(ledger: Ledger, name: str, tmp_path: Path) -> None:
    (tmp_path / "blobs" / name).write_bytes(b"nothing")
    written = run("backup", tmp_path / "backups")
    assert written.exit_code == 1
    assert "1 stored file is missing or damaged" in written.stdout
    assert "headgate audit" in written.stdout
    assert "secret.key" in written.stdout


def test_a_folder_without_backups_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    refused = run("restore", tmp_path, "--yes")
    assert refused.exit_code == 1
    assert "holds no backup of Headgate" in refused.stderr


def test_a_dump_of_the_database_says_that_files_are_separate(ledger: Ledger, tmp_path: Path) -> None:
    written = run("db", "backup", tmp_path / "dump")
    assert written.exit_code == 0, written.stderr
    assert "Stored files and the key file (secret.key) are not in it." in written.stdout
    assert "headgate backup" in written.stdout
