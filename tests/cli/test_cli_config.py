"""`headgate config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate.cli.config import app
from headgate.kernel.settings import SECTIONS

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def settings_of_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is set but the data folder and a database with a password."""
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)
    monkeypatch.setenv("HEADGATE_DATABASE_URL", "postgresql://me:hunter2@host/db")


def test_show_prints_each_section_with_values_and_origins(tmp_path: Path) -> None:
    (tmp_path / "headgate.toml").write_text("[web]\nport = 9000\n")
    result = CliRunner().invoke(app, ["show"])
    assert result.exit_code == 0
    assert [section for section in SECTIONS if f"[{section}]" not in result.output] == []
    lines = {line.split()[0]: line.split() for line in result.output.splitlines() if "HEADGATE_" in line}
    assert lines["HEADGATE_WEB_PORT"][1:] == ["9000", "file", str(tmp_path / "headgate.toml")]
    assert lines["HEADGATE_DATA_DIR"][1:] == [str(tmp_path), "environment"]
    assert lines["HEADGATE_WEB_HOST"][1:] == ["127.0.0.1", "default"]


@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"]])
def test_show_masks_secrets(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert "hunter2" not in result.output
    assert "postgresql://me:•••@host/db" in result.output


def test_show_prints_one_json_document() -> None:
    document = json.loads(CliRunner().invoke(app, ["show", "--json"]).output)
    url = next(value for value in document["settings"] if value["variable"] == "HEADGATE_DATABASE_URL")
    assert (url["origin"], url["secret"]) == ("environment", True)
    assert {value["section"] for value in document["settings"]} == set(SECTIONS)


def test_path_prints_where_the_file_is_looked_for(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["path"]).output.strip() == str(tmp_path / "headgate.toml")
