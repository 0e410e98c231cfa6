"""Fan-outs on the stage, and what can happen in the middle of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from typing import Any

from headgate.testing.platform.errors import SimTimeout
from headgate.testing.platform.faults import FaultRates
from headgate.testing.simulator.engine.theatre import Theatre
from headgate.testing.simulator.sending.fanout import Fanout, FanoutEvent, FanoutOutcome, FanoutScript

Doing = Callable[[Fanout], Awaitable[None]]


async def play(theatre: Theatre, script: FanoutScript, *happenings: tuple[float, Doing]) -> FanoutOutcome:
    """Play a fan-out and let things happen at their seconds; it must pass its judgement."""
    listed = tuple(FanoutEvent(at_s, do) for at_s, do in happenings)
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


def at_point(label: str, do: Callable[[Fanout, int], Awaitable[None]]) -> Doing:
    """Do something whenever a call comes to a point, counted from 1; what it raises fails the call."""

    async def hook(fanout: Fanout) -> None:
        times, before = count(1), fanout.world.on_point

        async def point(reached: str) -> None:
            if before is not None:
                await before(reached)
            if reached == label:
                await do(fanout, next(times))

        fanout.world.on_point = point

    return hook


def lose_answer(number: int = 1) -> Doing:
    """Let one message arrive without an answer."""

    async def lose(_: Fanout, sent: int) -> None:
        if sent == number:
            raise SimTimeout("send")

    return at_point("send.after_effect", lose)


async def kill(fanout: Fanout) -> None:
    """Kill all processes."""
    for process in fanout.processes:
        process.troupe.crashed = True
