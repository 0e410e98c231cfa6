"""`headgate db` from the command line, on an embedded server of its own."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from guests import make_server
from typer.testing import CliRunner, Result

from headgate.cli.main import app

pytestmark = pytest.mark.long


@pytest.fixture
def data_dir(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HEADGATE_DATABASE_URL", raising=False)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(folder))
    return folder


def _db(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["db", *arguments])


def test_backup_and_restore_on_the_embedded_server(data_dir: Path, tmp_path: Path) -> None:
    server = make_server(data_dir)
    url = server.start()
    try:
        assert json.loads(_db("migrate", "--json").stdout)["applied"]
        assert "up to date" in _db("migrate").stdout
        status = json.loads(_db("status", "--json").stdout)
        assert status["current"] is True
        assert "•••" in status["url"]

        written = _db("backup", str(tmp_path), "--json")
        assert written.exit_code == 0, written.stderr
        file = json.loads(written.stdout)["file"]
        with psycopg.connect(url) as connection:
            connection.execute("insert into lease values ('later', gen_random_uuid(), 'x', '2026-01-01')")

        refused = _db("restore", file)
        assert refused.exit_code == 1
        assert "not empty" in refused.stderr
        unasked = _db("restore", file, "--force")
        assert unasked.exit_code == 1
        assert "--yes" in unasked.stderr

        restored = _db("restore", file, "--force", "--yes", "--json")
        assert restored.exit_code == 0, restored.stderr
        assert json.loads(restored.stdout)["set_aside"] == "headgate_before_restore"
        with psycopg.connect(url) as connection:
            assert connection.execute("select count(*) from lease").fetchone() == (0,)
    finally:
        server.stop()


def test_a_new_machine_is_filled_from_a_backup(data_dir: Path, tmp_path: Path, database_url: str) -> None:
    environment = {"HEADGATE_DATABASE_URL": database_url}
    file = tmp_path / "a.backup"
    written = CliRunner().invoke(app, ["db", "backup", str(file)], env=environment)
    assert written.exit_code == 0, written.stderr
    assert "verified" in written.stdout
    restored = _db("restore", str(file))
    assert restored.exit_code == 0, restored.stderr
    assert restored.stdout.startswith("Restored ")
    assert not make_server(data_dir).is_running()
