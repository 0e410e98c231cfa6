"""`headgate bench`: the figures are there, held against their floors, and the ground is left as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from headgate.dev.bench import app
from headgate.dev.bench.ground import at_database
from headgate.dev.bench.jobs import JobSizes
from headgate.dev.bench.measuring import Report, delay_line, percentile, print_report, rate_line
from headgate.dev.bench.streams.ingest import IngestSizes
from headgate.dev.bench.streams.plan import PlanSizes
from headgate.dev.bench.streams.sweep import SweepSizes
from headgate.domain.errors import UserError

KEYS = {
    "drain_per_s",
    "floor_per_s",
    "ratio",
    "fenced_per_s",
    "fenced_tx_per_s",
    "floor_tx_per_s",
    "fenced_ratio",
    "fenced_tx_ratio",
    "pickup_ms_p50",
    "pickup_ms_p99",
    "jobs",
    "concurrency",
    "server_version",
    "python",
}


# One after the other: each looks whether a benchmark has left its database behind.
pytestmark = [pytest.mark.xdist_group("bench"), pytest.mark.once, pytest.mark.long]


@pytest.fixture
def on_server(server_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", server_url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)
    return server_url


def bench_databases(url: str) -> list[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "select datname from pg_database where datname like 'headgate\\_bench\\_%'"
        )
        return [row[0] for row in found]


def test_a_small_run_measures_everything_and_leaves_nothing(on_server: str) -> None:
    before = bench_databases(on_server)
    arguments = ["jobs", "--jobs", "400", "--rounds", "1", "--pickups", "10", "--json"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    values: dict[str, Any] = json.loads(result.stdout)
    assert values.keys() >= KEYS
    assert values["jobs"] == 400
    assert values["ratio"] == pytest.approx(values["drain_per_s"] / values["floor_per_s"], abs=0.01)
    assert values["fenced_ratio"] == pytest.approx(
        values["fenced_per_s"] / values["floor_tx_per_s"], abs=0.01
    )
    assert values["fenced_tx_ratio"] == pytest.approx(
        values["fenced_tx_per_s"] / values["floor_tx_per_s"], abs=0.01
    )
    assert 0 < values["pickup_ms_p50"] <= values["pickup_ms_p99"]
    assert set(bench_databases(on_server)) <= set(before)


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.usefixtures("on_server")
def test_a_sweep_counts_calls_and_misses_nothing() -> None:
    values = run("sweep", "--topics", "30", "--channels", "4", "--changed", "5")
    # One search a topic and channel, at least.
    assert values["naive_cycle"] == 34
    assert values["cold_start"] >= 1 + 2 * 5
    assert 1 <= values["idle_cycle"] <= 2
    assert values["restart_5min"] == 0
    assert values["restart_1h"] <= 2
    assert 1 + 2 <= values["changed_40_topics"] <= 10
    assert (values["missed"], values["repeated"]) == (0, 0)


def test_heads_are_counted_by_platform() -> None:
    values = run("heads")
    assert values["simulated"]["calls_1000"] == 1_000 / values["simulated"]["streams_per_call"] == 10
    assert values["matrix"]["calls_1000"] == 1_000 / values["matrix"]["streams_per_call"] == 20
    # Ten checks of 100 channels each; in each of them channels of all ten guilds.
    assert values["discord"]["calls_1000"] == 100
    assert values["discord"]["calls_1000_listening"] == 0
    assert run("heads", "--platform", "simulated").keys() == {"simulated", "streams", "python"}


def test_heads_of_an_unknown_platform_are_refused() -> None:
    with pytest.raises(UserError, match="no platform 'pigeon'"):
        run("heads", "--platform", "pigeon")


@pytest.mark.usefixtures("on_server")
def test_planning_is_measured_among_few_and_many() -> None:
    values = run("plan", "--streams", "12000", "--plans", "5")
    assert (values["streams"], values["streams_few"], values["accounts"]) == (12_000, 1_000, 2)
    assert values["ratio"] == pytest.approx(values["plan_ms"] / values["floor_ms"], rel=0.02)
    assert values["growth"] == pytest.approx(values["plan_ms"] / values["plan_ms_few"], rel=0.02)
    assert values["tick_ms"] > 0


@pytest.mark.usefixtures("on_server")
def test_ingest_is_measured_against_batches_and_single_rows() -> None:
    values = run("ingest", "--messages", "250", "--rounds", "1", "--live", "5")
    assert (values["messages"], values["live"]) == (250, 5)
    assert values["ratio"] == pytest.approx(values["items_per_s"] / values["floor_rows_per_s"], abs=0.01)
    assert values["times_per_row"] == pytest.approx(values["items_per_s"] / values["per_row_per_s"], abs=0.01)
    assert 0 < values["live_ms_p50"] <= values["live_ms_p95"]


@pytest.mark.once
def test_the_default_sizes_are_those_of_the_bounds() -> None:
    assert JobSizes() == JobSizes(jobs=20_000, rounds=3, pickups=200)
    assert SweepSizes() == SweepSizes(topics=1_086, channels=50, changed=40)
    assert PlanSizes() == PlanSizes(streams=1_000_000, plans=400)
    assert IngestSizes() == IngestSizes(messages=20_000, rounds=3, live=300)


@pytest.mark.once
@pytest.mark.parametrize(("per_s", "ok"), [(26.0, True), (25.0, True), (24.0, False)])
def test_a_rate_is_held_against_its_floor(per_s: float, *, ok: bool) -> None:
    line = rate_line("drain", per_s=per_s, floor_per_s=100.0, least_ratio=0.25)
    assert (line.ok, line.ratio) == (ok, per_s / 100)


@pytest.mark.once
@pytest.mark.parametrize(("delay_ms", "ok"), [(25.0, True), (25.1, False)])
def test_a_delay_is_held_against_its_bound(delay_ms: float, *, ok: bool) -> None:
    assert delay_line("pickup", delay_ms=delay_ms, most_ms=25).ok is ok


@pytest.mark.once
def test_a_figure_without_a_bound_is_neither_ok_nor_missed() -> None:
    assert rate_line("drain", per_s=1, floor_per_s=2).ok is None
    assert delay_line("pickup", delay_ms=1).ok is None


@pytest.mark.once
@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile([float(number) for number in range(100, 0, -1)], share) == value


@pytest.mark.once
def test_a_report_says_what_was_missed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        rate_line("drain", per_s=1_000, floor_per_s=10_000, least_ratio=0.25),
        delay_line("pickup", delay_ms=7, most_ms=25),
    ]
    print_report(Report("jobs", "Jobs on a server", {}, lines, ["A note."]))
    output = capsys.readouterr().out
    rows = [line.split() for line in output.splitlines()]
    assert ["drain", "1,000/s", "10,000/s", "0.10", "ratio", "≥", "0.25", "missed"] in rows
    assert ["pickup", "7.0", "ms", "≤", "25", "ms", "ok"] in rows
    assert max(len(line) for line in output.splitlines()) <= 80
    assert rows[-1] == ["A", "note."]


@pytest.mark.once
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "postgresql://me:pw@host:5433/mine?sslmode=require",
            "postgresql://me:pw@host:5433/other?sslmode=require",
        ),
        ("postgres://host", "postgresql://host/other"),
        ("postgresql://me:pw@/mine?host=%2Ftmp%2Fx", "postgresql://me:pw@/other?host=%2Ftmp%2Fx"),
        ("postgresql:///mine?host=/tmp/x", "postgresql:///other?host=/tmp/x"),
    ],
)
def test_the_ground_is_beside_the_database_of_the_settings(url: str, expected: str) -> None:
    assert at_database(url, "other") == expected
