"""How runs end, and the sentences that say so."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.reminders.run_results import (
    RunEnding,
    RunResult,
    RunState,
    Tally,
    notice,
    result_of,
    summary,
)

KL = "Asia/Kuala_Lumpur"
CLOSED = "Delivery window closed at 18:00 (Asia/Kuala_Lumpur). 412 of 1000 groups delivered."
CAPACITY = "This account is at capacity for this run; consider sending the rest from another account."


CUT_OFF = RunEnding(
    "Main",
    Tally(sent=412, failed=3, uncertain=2, skipped=583),
    closed_at_text="18:00",
    zone=KL,
    errors={"no such group": 3},
)


@pytest.mark.parametrize(
    ("tally", "result"),
    [
        (Tally(sent=3), "success"),
        (Tally(sent=1, failed=1), "partial"),
        (Tally(sent=1, uncertain=1), "partial"),
        (Tally(sent=1, skipped=1), "partial"),
        (Tally(failed=1, skipped=2), "failed"),
        (Tally(uncertain=2), "failed"),
        (Tally(), "failed"),
    ],
)
def test_a_run_succeeds_if_every_target_was_sent_to_and_fails_if_none_was(
    tally: Tally, result: RunResult
) -> None:
    assert result_of(tally) == result


def test_a_closed_window_is_told_in_the_wording_that_people_know() -> None:
    text = summary(replace(CUT_OFF, saturated=True))
    assert text.startswith(f"{CLOSED} {CAPACITY} ")


def test_the_capacity_sentence_appears_only_if_the_lane_was_saturated() -> None:
    text = summary(CUT_OFF)
    assert text == (
        f"{CLOSED} Account Main: 3 failed (no such group), 2 uncertain, 583 skipped (delivery window closed)."
    )


def test_the_true_causes_are_named_with_counts() -> None:
    ending = replace(
        CUT_OFF, passed_on=83, limit_signals=4, daily_cap_reached=True, paused_reason="signed out."
    )
    assert summary(ending).endswith(
        "2 uncertain, 83 passed on to another account, 500 skipped (delivery window closed). "
        "The daily cap of the account was reached. The platform asked 4 times to slow down. "
        "The run was paused: signed out."
    )


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (RunEnding("Main", Tally(sent=1000)), "All 1000 groups delivered by Main."),
        (
            RunEnding("Main", Tally(sent=5), closed_at_text="18:00", zone=KL),
            "All 5 groups delivered by Main.",
        ),
        (RunEnding("Main", Tally(sent=1)), "The only group was delivered by Main."),
        (RunEnding("Main", Tally()), "There was no group to deliver to by Main."),
        (
            RunEnding("Main", Tally(failed=1), errors={"banned": 1}),
            "0 of 1 group delivered. Account Main: 1 failed (banned).",
        ),
        (
            RunEnding("Main", Tally(sent=1, skipped=4), cancelled=True),
            "Cancelled. 1 of 5 groups delivered. Account Main: 4 skipped (cancelled).",
        ),
        (
            RunEnding(
                "Main", Tally(sent=1, failed=6), errors={"gone": 1, "no such group": 3}, limit_signals=1
            ),
            (
                "1 of 7 groups delivered. Account Main: 3 failed (no such group), 1 failed (gone), "
                "2 failed for other reasons. The platform asked once to slow down."
            ),
        ),
        (
            RunEnding("Main", Tally(sent=1, pending=2, sending=1), cancelled=True),
            "Cancelled. 1 of 4 groups delivered. Account Main: 3 not finished.",
        ),
    ],
)
def test_a_run_is_summed_up(ending: RunEnding, text: str) -> None:
    assert summary(ending) == text


def test_many_kinds_of_errors_do_not_make_a_long_summary() -> None:
    errors = {f"error {number}": 1 for number in range(100)}
    text = summary(RunEnding("Main", Tally(sent=1, failed=100), errors=errors))
    assert text.count("failed (") == 5
    assert text.endswith("95 failed for other reasons.")


def test_a_notice_says_how_many_were_delivered_if_not_all_were() -> None:
    tally = Tally(sent=412, skipped=588)
    assert notice("Rehearsal", "partial", tally) == "Rehearsal: 412 of 1000 delivered"
    assert notice("Rehearsal", "success", Tally(sent=9)) == "Rehearsal: all 9 delivered"
    assert notice("Rehearsal", "cancelled", tally) == "Rehearsal: cancelled, 412 of 1000 delivered"


@pytest.mark.parametrize("state", get_args(RunState))
def test_every_state_has_a_notice(state: RunState) -> None:
    assert notice("Rehearsal", state, Tally(sent=1, failed=1)).startswith("Rehearsal: ")


_counts = st.integers(0, 2000)


@given(st.builds(Tally, _counts, _counts, _counts, _counts, _counts, _counts))
def test_the_counts_of_a_summary_add_up(tally: Tally) -> None:
    text = summary(RunEnding("Main", tally))
    counted = [int(word) for word in text.partition("Account Main: ")[2].split() if word.isdecimal()]
    assert sum(counted) == tally.unsent
