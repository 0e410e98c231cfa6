"""`headgate bench fetch`: the product and the floor read the same bytes from the same socket."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from headgate.dev.bench import app

pytestmark = [pytest.mark.xdist_group("bench"), pytest.mark.once]


def test_downloads_are_measured_beside_their_floor() -> None:
    sizes = ["--file-mib", "1", "--large-mib", "2", "--small-files", "20", "--rounds", "1"]
    result = CliRunner().invoke(app, ["fetch", *sizes, "--json"])
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout[result.stdout.index("{\n") :])
    assert values["bytes_per_s"] > 0
    assert values["floor_bytes_per_s"] > 0
    assert values["small_files_per_s"] > 0
    assert values["ratio"] == round(values["bytes_per_s"] / values["floor_bytes_per_s"], 3)
    small = values["small_files_per_s"] / values["floor_small_files_per_s"]
    assert values["small_ratio"] == pytest.approx(small, rel=0.05)
    assert values["peak_rss_large_bytes"] >= values["peak_rss_bytes"] > 0
