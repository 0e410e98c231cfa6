"""A judgement that finds nothing proves nothing unless it finds what is there: each mutant must be caught."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mutants import MUTANTS, Mutant, proof_survives_a_reconnect

from headgate.cli.sim import build_product
from headgate.testing.simulator import Script, open_theatre, script_for
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
                outcome = await theatre.play(seed, "wild", _script(seed, mutate))
            except Stuck:
                return
            if outcome.failures:
                return
    pytest.fail(f"{mutate.__name__} was not caught in {MOST_PLAYS} plays")


def _script(seed: int, mutate: Mutant) -> Script:
    """Return a play in which what the mutant breaks is needed."""
    script = script_for(seed, "wild")
    if mutate is not proof_survives_a_reconnect:
        return script
    # Only where events are dropped in silence does it matter what the next one is taken to prove.
    return replace(script, profile="telegram_like", rates=replace(script.rates, live_drop=0.5))
