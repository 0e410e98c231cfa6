"""Forecasts in plain sentences."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.domain.reminders.forecast import Forecast, PlannedRun
from headgate.domain.reminders.windows import Window
from headgate.domain.words.forecast_text import in_words

PLACE = "Asia/Kuala_Lumpur"
AT = f"2026-03-02 12:00 ({PLACE})"
CLOSES = f"not reached before the delivery window closes on {AT}"
PACE = "The pace of the account does not allow more."
CAP = "The daily cap of the account is reached before that."
NOON = datetime(2026, 3, 2, 4, tzinfo=UTC)
"""In Kuala Lumpur."""
PLAN = PlannedRun(2000, 2, Window(zone=PLACE), "stop", NOON)


def foreseen(**values: object) -> Forecast:
    defaults = {
        "opens_at": NOON,
        "begins_at": NOON,
        "ends_at": NOON,
        "targets_reached": 1000,
        "targets_unreached": 0,
    }
    return Forecast(**(defaults | values))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("forecast", "sentence"),
    [
        (foreseen(), f"1,000 groups, done by about {AT}."),
        (
            foreseen(carried_windows=2),
            f"1,000 groups, done by about {AT}, in 2 further delivery windows.",
        ),
        (
            foreseen(targets_reached=412, targets_unreached=588, saturated_until_close=True),
            f"588 of 1,000 groups are {CLOSES}; 412 are. {PACE}",
        ),
        (
            foreseen(targets_reached=999, targets_unreached=1, daily_cap_reached=True),
            f"1 of 1,000 groups is {CLOSES}; 999 are. {CAP}",
        ),
        (
            foreseen(ends_at=None, targets_reached=7, targets_unreached=993),
            "Within 60 days it reaches 7 of 1,000 groups.",
        ),
    ],
)
def test_a_forecast_says_when_it_ends_and_whom_it_does_not_reach(forecast: Forecast, sentence: str) -> None:
    assert in_words(forecast, PLAN) == sentence


def test_other_runs_on_the_account_are_named() -> None:
    assert in_words(foreseen(), PLAN, queued=1200).endswith(
        "1,200 messages of other runs on this account will be sent in turn with it."
    )


def test_nothing_to_send_and_one_group_are_said_so() -> None:
    assert in_words(foreseen(), PlannedRun(0, 1, Window(), "stop", NOON)) == "There is nothing left to send."
    assert "1 group, done by about" in in_words(foreseen(), PlannedRun(2, 2, Window(), "stop", NOON))
