"""`headgate bench chapters`, `poll` and `listen`: small runs measure everything, exactly where they must."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.dev.bench import app

pytestmark = [pytest.mark.xdist_group("bench"), pytest.mark.once, pytest.mark.long]


@pytest.fixture(autouse=True)
def on_server(server_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", server_url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_chapters_are_written_and_told_exactly(on_server: None) -> None:
    values = run("chapters", "--series", "5", "--chapters", "100", "--rounds", "2")
    assert values["rows_written"] == values["rows_changed"] == 2 * (2 * 5 + 5)
    assert values["notifications"] == values["expected_notifications"] == 2 * 5
    assert values["ratio"] == pytest.approx(values["chapters_per_s"] / values["floor_rows_per_s"], abs=0.01)
    times = values["chapters_per_s"] / values["per_chapter_job_per_s"]
    # Both rates are printed as whole numbers.
    assert values["times_per_chapter_job"] == pytest.approx(times, rel=0.02)


def test_a_beat_takes_few_calls_and_finds_everything(on_server: None) -> None:
    values = run("poll", "--series", "60", "--changed", "20")
    assert values["chapters_found"] == values["chapters_published"] == 20 * values["beats"]
    assert 1 <= values["calls_per_beat"] <= 10
    assert values["first_calls"] >= 60


def test_listening_is_measured_against_polling_and_misses_nothing(on_server: None) -> None:
    values = run("listen", "--hours", "0.5")
    assert (values["missed"], values["polling_missed"]) == (0, 0)
    assert values["ratio"] == pytest.approx(values["calls"] / values["polling_calls"], abs=0.001)
    # What is heard is stored at once.
    assert values["late_s_median"] <= 1
