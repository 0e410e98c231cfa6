"""One small fan-out with a crash in its middle, on every server that is supported."""

from __future__ import annotations

from fanouts import noting, play

from headgate.kernel.metrics import REGISTRY
from headgate.testing.platform.profiles import plain
from headgate.testing.simulator import FanoutScript, Theatre


async def test_a_fan_out_goes_through_and_survives_a_crash(theatre: Theatre) -> None:
    whole = await play(theatre, FanoutScript(targets=5))
    assert (whole.states, whole.messages, whole.uploads) == (["success"], 10, 1)
    crashed = await play(theatre, FanoutScript(targets=5, crash_at=whole.points // 2))
    assert (crashed.crashes, crashed.doubled) == (1, 0)
    assert crashed.states == ["success"]


async def test_slow_mode_of_groups_holds_up_nobody_else(theatre: Theatre) -> None:
    noted: list[dict[str, float]] = []
    script = FanoutScript(targets=8, parts=("first", "second"), profile=plain.but(slow_mode_s=60.0))
    # By then the first message has gone to everyone, at the full pace of 40 a minute.
    rates = noting(noted, "select count(*) filter (where state = 'sent') as sent from part")
    outcome = await play(theatre, script, (30.0, rates))
    assert noted == [{"sent": 8}]
    assert (outcome.states, outcome.messages, outcome.doubled) == (["success"], 16, 0)
    assert outcome.virtual_s < 120


async def test_sends_are_counted_by_platform(theatre: Theatre) -> None:
    labels = {"platform": "simulated", "kind": "send", "result": "done"}

    def sent() -> float:
        return REGISTRY.get_sample_value("headgate_platform_calls_total", labels) or 0.0

    before = sent()
    outcome = await play(theatre, FanoutScript(targets=5))
    assert sent() - before == outcome.messages == 10
