"""Metrics of calls to platforms: by platform and kind, and by what came of them."""

from __future__ import annotations

import pytest
from bench import Bench

from headgate.kernel.metrics import REGISTRY, render_metrics
from headgate.testing.platform.errors import SimError, SimFlood, SimTimeout


def calls(kind: str, result: str) -> float:
    labels = {"platform": "simulated", "kind": kind, "result": result}
    return REGISTRY.get_sample_value("headgate_platform_calls_total", labels) or 0.0


async def test_calls_are_counted_by_platform_kind_and_result(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    before = calls("read", "done"), calls("heads", "done")
    await bench.follow()
    await bench.work()
    assert calls("read", "done") > before[0]
    assert calls("heads", "done") > before[1]
    assert (
        b'headgate_platform_calls_total{kind="read",platform="simulated",result="done"}' in render_metrics()
    )


@pytest.mark.parametrize(
    ("error", "result"), [(SimFlood(30), "RateLimited"), (SimTimeout("read"), "Transient")]
)
async def test_a_limit_and_an_error_are_counted_by_their_class_and_not_as_done(
    bench: Bench, error: SimError, result: str
) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    before, done = calls("read", result), calls("read", "done")
    bench.fail("read.began", error)
    await bench.work()
    assert calls("read", result) > before
    assert calls("read", "done") == done
