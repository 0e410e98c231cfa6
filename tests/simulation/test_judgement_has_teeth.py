"""A judgement that finds nothing proves nothing unless it finds what is there: each mutant must be caught."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, Mutant

from headgate.cli.sim import build_product
from headgate.testing.simulator import open_theatre
from headgate.testing.simulator.stage import Stuck

pytestmark = pytest.mark.once

MOST_PLAYS = 40


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
async def test_a_mutant_is_caught_within_a_few_plays(
    server_url: str, monkeypatch: pytest.MonkeyPatch, mutate: Mutant
) -> None:
    mutate(monkeypatch)
    async with open_theatre(server_url, build_product) as theatre:
        for seed in range(MOST_PLAYS):
            try:
                outcome = await theatre.play(seed, "wild")
            except Stuck:
                return
            if outcome.failures:
                return
    pytest.fail(f"{mutate.__name__} was not caught in {MOST_PLAYS} plays")
