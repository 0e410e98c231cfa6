"""`headgate import`: what a person sees, and what a script gets."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ledger import Ledger
from typer.testing import CliRunner, Result

from headgate.cli.main import app

COLUMNS = 80


@pytest.fixture
def folder(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small collection."""
    folder = tmp_path_factory.mktemp("collection") / "models"
    (folder / "maker").mkdir(parents=True)
    (folder / "maker" / "a.bin").write_bytes(b"a" * 1000)
    (folder / "maker" / "same.bin").write_bytes(b"a" * 1000)
    (folder / "b.bin").write_bytes(b"b" * 500)
    (folder / ".hidden").write_bytes(b"hidden")
    (folder / "link.bin").symlink_to(folder / "b.bin")
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["import", *map(str, arguments)])


def test_an_import_says_what_was_stored_and_what_was_left_out(folder: Path) -> None:
    first = run(folder)
    assert first.exit_code == 0, first.stderr
    assert first.stdout.splitlines() == [
        "models: 3 of 3 files (2.5 kB) stored, 3 new, 1 of them with known content.",
        "Left out: 1 hidden file, 1 link.",
    ]
    assert first.stderr == ""
    (folder / "new.bin").write_bytes(b"new")
    assert "4 of 4 files (2.5 kB) stored, 1 new." in run(folder).stdout
    assert "4 of 4 files (2.5 kB) stored, nothing new." in run(folder).stdout


def test_a_script_gets_one_document(folder: Path) -> None:
    done = run(folder, "--title", "My models", "--in-place", "--json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["channel"], document["folder"]) == ("My models", str(folder.resolve()))
    assert (document["files"], document["stored"], document["size_bytes"]) == (3, 3, 2500)
    assert document["finished"]
    assert document["left_out"] == {"hidden": 1, "links": 1}
    assert document["failures"] == []


def test_what_cannot_be_read_is_named_and_the_rest_is_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = os.pread

    def refuse(descriptor: int, size: int, offset: int) -> bytes:
        if size == 500:
            raise PermissionError(13, "Permission denied")
        return original(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", refuse)
    done = run(folder)
    assert done.exit_code == 1
    assert "2 of 3 files (2.5 kB) stored" in done.stdout
    assert "1 file could not be read. Import again to retry." in done.stdout
    assert done.stderr.splitlines() == ["  'b.bin': the file cannot be read: permission denied"]
    assert all(len(line) <= COLUMNS for line in done.stdout.splitlines())


def test_a_folder_that_cannot_be_imported_is_refused_before_anything_is_done(
    ledger: Ledger, tmp_path: Path
) -> None:
    for place, reason in ((tmp_path / "nowhere", "does not exist"), (tmp_path, "keeps its own files")):
        refused = run(place)
        assert refused.exit_code == 1
        assert reason in refused.stderr
        assert refused.stdout == ""


@pytest.mark.long
def test_a_terminal_shows_how_far_it_is(folder: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "headgate", "import", str(folder)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"COLUMNS": str(COLUMNS), "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        shown = _read_all(ours)
        assert process.wait() == 0, shown
        assert process.stdout is not None
        assert b"3 of 3 files" in process.stdout.read()
    assert "Listing" in shown
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= COLUMNS


def _read_all(terminal: int) -> str:
    chunks: list[bytes] = []
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            # The other end was closed.
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(terminal)
    return b"".join(chunks).decode()


def test_a_backup_says_which_files_it_does_not_have(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert run(folder, "--in-place").exit_code == 0
    backups = tmp_path_factory.mktemp("backups")
    written = CliRunner().invoke(app, ["backup", str(backups)])
    assert written.exit_code == 0, written.stderr
    assert "Not in the backup: 3 files imported in place. Back up their folders yourself." in written.stdout
    restored = CliRunner().invoke(app, ["restore", str(backups), "--yes"])
    assert restored.exit_code == 0, restored.stderr
    assert "nothing new" in run(folder, "--in-place").stdout
