"""Hundreds of plays of the whole product against a faulty world: nothing lost, nothing doubled.

A failing seed is replayed with the printed command; once understood it becomes a fixed test below.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from full_set import INTAKE_PLAYS

from headgate.testing.simulator import PlayOutcome, Theatre

PER_TEST = 10
FAULTS = "wild"


async def play(theatre: Theatre, seeds: Iterable[int], faults: str) -> list[PlayOutcome]:
    return [await theatre.play(seed, faults) for seed in seeds]


@pytest.mark.once
@pytest.mark.parametrize("first", range(0, INTAKE_PLAYS, PER_TEST))
async def test_nothing_is_lost_and_nothing_doubled(theatre: Theatre, first: int) -> None:
    outcomes = await play(theatre, range(first, first + PER_TEST), FAULTS)
    failed = [outcome for outcome in outcomes if outcome.failures]
    assert not failed, "\n".join(
        f"headgate sim --seed {outcome.seed} --faults {FAULTS}: {outcome.failures[:3]}" for outcome in failed
    )
    assert all(outcome.items > 0 for outcome in outcomes)
    assert sum(outcome.crashes for outcome in outcomes) > PER_TEST, "hardly anything crashed"


async def test_the_same_seed_is_the_same_play(theatre: Theatre) -> None:
    (first,) = await play(theatre, range(8, 9), FAULTS)
    (second,) = await play(theatre, range(8, 9), FAULTS)
    assert first == second


async def test_a_quiet_world_is_caught_whole(theatre: Theatre) -> None:
    (outcome,) = await play(theatre, range(5, 6), "none")
    assert outcome.failures == []
    assert outcome.crashes == 0
