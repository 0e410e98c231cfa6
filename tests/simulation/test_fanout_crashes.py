"""Senders that die: at every point of a small run in turn, and at random; the platform's log is the judge.

No part arrives twice under any kind of deduplication, none is lost but as uncertain where the platform cannot
tell, the pace is kept across the restart, and it goes on soon. More seeds: `headgate sim --what fanout`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from full_set import CRASH_POINT_STRIDE, CRASH_SHARES, FANOUT_PLAYS

from headgate.testing.platform.profiles import PRESETS
from headgate.testing.simulator import FanoutScript, Theatre, fanout_for

pytestmark = pytest.mark.once

# The same message again, an error, nothing at all: what platforms do when a key is repeated.
KINDS = {"plain": "same_message", "telegram_like": "error", "hostile": "none"}
PER_TEST = 5


@pytest.mark.parametrize("share", range(CRASH_SHARES))
@pytest.mark.parametrize("name", KINDS)
async def test_a_run_survives_a_crash_at_each_await(theatre: Theatre, name: str, share: int) -> None:
    profile = PRESETS[name]
    assert profile.dedupe.kind == KINDS[name]
    quiet = FanoutScript(targets=3, parts=("Dear {group}", "+picture"), profile=profile)
    whole = await theatre.fan_out(1, quiet)
    assert (whole.failures, whole.messages) == ([], 6)
    first = list(KINDS).index(name) + 1 + len(KINDS) * share
    for point in range(first, whole.points + 1, len(KINDS) * CRASH_SHARES * CRASH_POINT_STRIDE):
        outcome = await theatre.fan_out(1, replace(quiet, crash_at=point, longest_s=300.0))
        assert outcome.crashes == 1, f"nobody died at point {point}"
        assert outcome.failures == [], f"a crash at point {point} on {name}"
        assert outcome.messages + outcome.uncertain >= 6 or name == "hostile"


@pytest.mark.parametrize("first", range(0, FANOUT_PLAYS, PER_TEST))
async def test_a_run_survives_crashes_and_faults_at_random(theatre: Theatre, first: int) -> None:
    for seed in range(first, first + PER_TEST):
        outcome = await theatre.fan_out(seed, fanout_for(seed, "wild"))
        assert outcome.failures == [], f"headgate sim --what fanout --seed {seed}"


@pytest.mark.parametrize("seed", [371, 411])
async def test_a_run_that_is_resumed_at_the_close_of_its_window_ends(theatre: Theatre, seed: int) -> None:
    outcome = await theatre.fan_out(seed, fanout_for(seed, "wild"))
    assert outcome.failures == []
