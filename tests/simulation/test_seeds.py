"""Hundreds of plays of the whole product against a faulty world: nothing lost, nothing doubled.

A failing seed is replayed with the printed command; once understood it becomes a fixed test below.
"""

from __future__ import annotations

import pytest

from headgate.cli.sim import build_product
from headgate.testing.simulator import Outcome, open_theatre

PLAYS = 200
PER_TEST = 10
FAULTS = "wild"


async def play(server_url: str, seeds: range, faults: str) -> list[Outcome]:
    async with open_theatre(server_url, build_product) as theatre:
        return [await theatre.play(seed, faults) for seed in seeds]


@pytest.mark.once
@pytest.mark.parametrize("first", range(0, PLAYS, PER_TEST))
async def test_nothing_is_lost_and_nothing_doubled(server_url: str, first: int) -> None:
    outcomes = await play(server_url, range(first, first + PER_TEST), FAULTS)
    failed = [outcome for outcome in outcomes if outcome.failures]
    assert not failed, "\n".join(
        f"headgate sim --seed {outcome.seed} --faults {FAULTS}: {outcome.failures[:3]}" for outcome in failed
    )
    assert all(outcome.items > 0 for outcome in outcomes)


async def test_crashes_really_happen(server_url: str) -> None:
    outcomes = await play(server_url, range(4), FAULTS)
    assert sum(outcome.crashes for outcome in outcomes) > 4


async def test_the_same_seed_is_the_same_play(server_url: str) -> None:
    (first,) = await play(server_url, range(7, 8), FAULTS)
    (second,) = await play(server_url, range(7, 8), FAULTS)
    assert first == second


async def test_a_quiet_world_is_caught_whole(server_url: str) -> None:
    (outcome,) = await play(server_url, range(5, 6), "none")
    assert outcome.failures == []
    assert outcome.crashes == 0
