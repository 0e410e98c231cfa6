"""One small fan-out with a crash in its middle, on every server that is supported."""

from __future__ import annotations

from fanouts import play

from headgate.testing.simulator import FanoutScript, Theatre


async def test_a_fan_out_goes_through_and_survives_a_crash(theatre: Theatre) -> None:
    whole = await play(theatre, FanoutScript(targets=5))
    assert (whole.states, whole.messages, whole.uploads) == (["success"], 10, 1)
    crashed = await play(theatre, FanoutScript(targets=5, crash_at=whole.points // 2))
    assert (crashed.crashes, crashed.doubled) == (1, 0)
    assert crashed.states == ["success"]
