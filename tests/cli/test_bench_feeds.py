"""`headgate bench feeds`: both readers poll the same server, and every entry is there once."""

from __future__ import annotations

import json

import pytest
from test_bench import on_server
from typer.testing import CliRunner

from headgate.dev.bench import app

__all__ = ["on_server"]

pytestmark = [pytest.mark.xdist_group("bench"), pytest.mark.once, pytest.mark.long]


def test_both_read_every_entry_once(on_server: str) -> None:
    assert on_server
    result = CliRunner().invoke(app, ["feeds", "--feeds", "6", "--entries", "5", "--json"])
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout[result.stdout.index("{") :])
    assert values["entries"] == values["distinct_entries"] == values["expected_entries"] == 30
    assert min(values[key] for key in ("first_ratio", "idle_ratio")) > 0
