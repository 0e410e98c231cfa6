"""Fan-outs on the stage, and what can happen in the middle of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from headgate.testing.faults import FaultRates
from headgate.testing.simulator.fanout import Fanout, FanoutOutcome, FanoutScript, Happening
from headgate.testing.simulator.theatre import Theatre

Doing = Callable[[Fanout], Awaitable[None]]


async def play(theatre: Theatre, script: FanoutScript, *happenings: tuple[float, Doing]) -> FanoutOutcome:
    """Play a fan-out and let things happen at their seconds; it must pass its judgement."""
    listed = tuple(Happening(at_s, do) for at_s, do in happenings)
    outcome = await theatre.fan_out(1, replace(script, happenings=listed))
    assert outcome.failures == []
    return outcome


def flood(share: float = 1.0) -> Doing:
    """Let the platform limit calls."""

    async def do(fanout: Fanout) -> None:
        fanout.world.faults.resume(FaultRates(flood=share))

    return do


async def calm(fanout: Fanout) -> None:
    fanout.world.calm()


def noting(into: list[Any], sql: str, *arguments: Any) -> Doing:
    """Write down what a statement finds at that moment."""

    async def do(fanout: Fanout) -> None:
        into.extend(await fanout.rows(sql, *arguments))

    return do
