"""`headgate connector new`: a package that passes the suite, and that Headgate finds once it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate.app.connectors import CONNECTORS, ENTRY_POINTS, load_connectors
from headgate.cli.main import app
from headgate.dev.scaffold import write_package
from headgate.domain.errors import UserError
from headgate.kernel.settings import load_settings

pytestmark = pytest.mark.once


def install(package: Path, target: Path, *, name: str) -> None:
    """Write what an installer would write beside a package, so that its entry points are found."""
    described = tomllib.loads((package / "pyproject.toml").read_text())["project"]["entry-points"]
    folder = target / f"headgate_{name}-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: headgate-{name}\nVersion: 0.1.0\n")
    lines = [f"{key} = {value}" for key, value in described[ENTRY_POINTS].items()]
    (folder / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines, ""]))


def test_a_new_connector_passes_the_conformance_suite(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    result = CliRunner().invoke(app, ["connector", "new", "carrier_pigeon", "--folder", str(folder)])
    assert result.exit_code == 0
    assert "pytest" in result.output
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "failed" not in done.stdout


def test_an_installed_connector_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_package("pigeon", tmp_path / "made")
    install(tmp_path / "made", tmp_path, name="pigeon")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "made" / "src"), str(tmp_path), *sys.path])
    connectors = load_connectors(load_settings({"HEADGATE_DATA_DIR": str(tmp_path)}))
    assert connectors["pigeon"].manifest.title == "Pigeon"
    assert set(connectors) > {"folder"}


def test_a_connector_that_cannot_be_loaded_harms_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_package("broken", tmp_path / "made")
    install(tmp_path / "made", tmp_path, name="broken")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    connectors = load_connectors(load_settings({"HEADGATE_DATA_DIR": str(tmp_path)}))
    assert "broken" not in connectors
    assert "folder" in connectors


@pytest.mark.parametrize("name", ["", "Pigeon", "2fast", "a-b", "../evil", "x" * 31])
def test_a_name_must_be_one_of_a_package(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name"):
        write_package(name, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="is there already"):
        write_package("pigeon", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_our_own_connectors_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(iter(CONNECTORS))
    write_package(name, tmp_path / "made")
    install(tmp_path / "made", tmp_path, name=name)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "made" / "src"), str(tmp_path), *sys.path])
    connectors = load_connectors(load_settings({"HEADGATE_DATA_DIR": str(tmp_path)}))
    assert type(connectors[name]).__module__.startswith("headgate.connectors.")
