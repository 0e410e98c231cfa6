"""`headgate bench contents`: the pool and the libraries list the same archives."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from headgate.dev.bench import app

pytestmark = [pytest.mark.xdist_group("bench"), pytest.mark.once]


def test_every_entry_is_found_and_the_floor_is_measured_beside_it() -> None:
    result = CliRunner().invoke(
        app, ["contents", "--archives", "8", "--entries", "10", "--rounds", "1", "--json"]
    )
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout[result.stdout.index("{") :])
    assert values["entries"] == values["expected_entries"] == 80
    assert values["problems"] == 0
    assert values["ratio"] == values["archives_per_s"] / values["floor_archives_per_s"] > 0
