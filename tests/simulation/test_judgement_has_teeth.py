"""A judgement that finds nothing proves nothing unless it finds what is there: each mutant must be caught."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from mutants import CAUGHT_BY, Mutant, proof_survives_a_reconnect, switches_are_ignored

from headgate.testing.platform.faults import FaultRates
from headgate.testing.simulator import Script, Theatre, script_for
from headgate.testing.simulator.engine.stage import Perils, Stuck

pytestmark = [pytest.mark.once, pytest.mark.long]

MAX_PLAYS = 40
SHORT_REST_S = 200.0


@pytest.mark.parametrize("mutate", CAUGHT_BY, ids=lambda mutate: mutate.__name__)
async def test_a_mutant_is_caught_within_a_few_plays(
    theatre: Theatre, monkeypatch: pytest.MonkeyPatch, mutate: Mutant
) -> None:
    mutate(monkeypatch)
    for seed, script in _plays(mutate):
        try:
            outcome = await theatre.play(seed, "wild", script)
        except Stuck:
            return
        if outcome.failures:
            return
    pytest.fail(f"{mutate.__name__} was not caught in {MAX_PLAYS} plays")


@pytest.mark.parametrize("mutate", {CAUGHT_BY[m]: m for m in CAUGHT_BY}.values())
async def test_the_play_that_catches_a_mutant_comes_to_rest_without_it(
    theatre: Theatre, mutate: Mutant
) -> None:
    outcome = await theatre.play(CAUGHT_BY[mutate], "wild", _short(CAUGHT_BY[mutate], mutate))
    assert outcome.failures == []


def _plays(mutate: Mutant) -> Iterator[tuple[int, Script]]:
    """Yield the play that is known to catch it, and others for the day on which that one has changed."""
    yield CAUGHT_BY[mutate], _short(CAUGHT_BY[mutate], mutate)
    for seed in range(MAX_PLAYS - 1):
        yield seed, _script(seed, mutate)


def _short(seed: int, mutate: Mutant) -> Script:
    """Return a play whose patience is short: a mutant often shows only by never coming to rest."""
    return replace(_script(seed, mutate), rest_s=SHORT_REST_S)


def _script(seed: int, mutate: Mutant) -> Script:
    """Return a play in which what the mutant breaks is needed."""
    script = script_for(seed, "wild")
    if mutate is proof_survives_a_reconnect:
        # Only where events are dropped in silence does it matter what the next one is taken to prove.
        return replace(script, profile="telegram_like", rates=replace(script.rates, live_drop=0.5))
    if mutate is switches_are_ignored:
        # Only where much is read and nothing holds it up is a stream asked for long after it was off.
        return replace(script, rates=FaultRates(), perils=Perils(), troubled_s=90.0, history=150)
    return script
