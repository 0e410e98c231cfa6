"""The extras of the connectors resolve, each alone and all together."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
UNREACHABLE = "client error (Connect)"
EXTRAS = sorted(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


@pytest.mark.long
@pytest.mark.parametrize("extras", [*([extra] for extra in EXTRAS), EXTRAS], ids="+".join)
def test_extras_resolve(extras: list[str], tmp_path: Path) -> None:
    chosen = [word for extra in extras for word in ("--extra", extra)]
    pins = tmp_path / "pins.txt"
    command = [sys.executable, "-m", "uv", "pip", "compile", "-q", "--universal", "--python-version", "3.11"]
    done = subprocess.run(
        [*command, *chosen, "-o", str(pins), "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if UNREACHABLE in done.stderr and os.environ.get("HEADGATE_TEST_OFFLINE"):
        pytest.skip("no package index can be reached, and HEADGATE_TEST_OFFLINE is set")
    assert done.returncode == 0, done.stderr
    assert "pgqueuer==" in pins.read_text()
