"""Things of the library that a person sends on at random, with crashes, floods and lost answers.

Judged by the platform's own log: no thing arrives more often than it was sent, nothing is believed that is
not so, and every request ends. More seeds: `headgate sim --what sharing`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from full_set import CRASH_POINT_STRIDE, SHARING_PLAYS

from headgate.testing.platform.faults import FaultRates
from headgate.testing.simulator import FanoutScript, Theatre, sharing_for
from headgate.testing.simulator.engine.stage import Perils

pytestmark = pytest.mark.once

PER_TEST = 3


@pytest.mark.parametrize("first", range(0, SHARING_PLAYS, PER_TEST))
async def test_sends_survive_crashes_and_faults_at_random(theatre: Theatre, first: int) -> None:
    for seed in range(first, first + PER_TEST):
        outcome = await theatre.fan_out(seed, sharing_for(seed, "wild"))
        assert outcome.failures == [], f"headgate sim --what sharing --seed {seed}"


async def test_sends_survive_a_crash_at_any_await(theatre: Theatre) -> None:
    quiet = replace(
        sharing_for(1, "none"), processes=1, troubled_s=20.0, rates=FaultRates(), perils=Perils(), targets=1
    )
    whole = await theatre.fan_out(1, quiet)
    assert whole.failures == []
    for point in range(1, whole.points + 1, 12 * CRASH_POINT_STRIDE):
        outcome = await theatre.fan_out(1, replace(quiet, crash_at=point, longest_s=600.0))
        assert outcome.failures == [], f"a crash at point {point}"


def test_every_play_has_things_to_send() -> None:
    assert all(sharing_for(seed, "wild").things > 0 for seed in range(20))
    assert FanoutScript().things == 0
