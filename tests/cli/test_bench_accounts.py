"""`headgate bench accounts`: real processes send from several accounts, and each is held against its lane."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from test_bench import on_server
from typer.testing import CliRunner

from headgate.dev.bench import app
from headgate.dev.bench.sending.accounts import AccountSizes, lane_ratio
from headgate.dev.bench.sending.accounts_process import BURST, PER_MINUTE

__all__ = ["on_server"]

pytestmark = [pytest.mark.xdist_group("bench"), pytest.mark.once]

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.long
@pytest.mark.usefixtures("on_server")
def test_accounts_are_measured_in_one_process_and_in_two() -> None:
    arguments = ["accounts", "--accounts", "2", "--accounts", "8", "--seconds", "4", "--long-seconds", "4"]
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    values: dict[str, Any] = json.loads(result.stdout)
    ratios = [values[f"accounts_{accounts}_processes_{count}"] for accounts in (2, 8) for count in (1, 2)]
    assert values["lane_ratio"] == min(ratios)
    assert all(ratio > 0 for ratio in ratios)
    assert values["first_message_ms"] > 0


def at_pace(messages: int, *, pause_s: float) -> list[datetime]:
    return [START] * BURST + [
        START + timedelta(seconds=pause_s * number) for number in range(1, messages + 1)
    ]


def test_an_account_at_the_pace_of_its_lane_has_the_ratio_one() -> None:
    assert lane_ratio(at_pace(20, pause_s=60 / PER_MINUTE)) == pytest.approx(1.0)


def test_the_burst_does_not_hide_a_slow_account() -> None:
    assert lane_ratio(at_pace(20, pause_s=2 * 60 / PER_MINUTE)) == pytest.approx(0.5)


def test_an_account_that_sent_nothing_has_the_ratio_zero() -> None:
    assert lane_ratio([]) == 0.0


def test_the_default_sizes_are_those_of_the_bounds() -> None:
    assert AccountSizes() == AccountSizes(accounts=(1, 4, 8, 16), seconds=9.0, long_seconds=50.0)
