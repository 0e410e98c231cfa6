"""Metrics of checks: one that gave up is counted by its class, and never as done."""

from __future__ import annotations

from listing_bench import ListingBench

from headgate.domain.errors import Gone
from headgate.kernel.metrics import REGISTRY
from headgate.testing.platform.errors import SimTimeout


def sample(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def polls(result: str) -> float:
    return sample("headgate_polls_total", platform="simulated", result=result)


def jobs(outcome: str) -> float:
    return sample("headgate_jobs_ended_total", kind="poll", outcome=outcome)


async def test_checks_are_counted_by_what_came_of_them(listed: ListingBench) -> None:
    before = {result: polls(result) for result in ("changed", "unchanged", "Gone")}
    done, failed = jobs("done"), jobs("failed")
    dex = await listed.add("dex")
    listed.publish("dex", "45")
    await listed.check(dex)
    await listed.check(dex)
    assert polls("changed") == before["changed"] + 1
    assert polls("unchanged") == before["unchanged"] + 1
    assert (jobs("done"), jobs("failed")) == (done + 2, failed)
    listed.bench.fail("list.began", Gone("gone for good"))
    await listed.check(dex)
    assert polls("Gone") == before["Gone"] + 1
    assert (jobs("done"), jobs("failed")) == (done + 2, failed + 1)


async def test_a_check_that_gives_up_counts_once_by_its_class(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    await listed.check(dex)
    listed.bench.fail("list.began", SimTimeout("list"))
    before, done, failed = polls("Transient"), jobs("done"), jobs("failed")
    await listed.pass_time(hours=5)
    await listed.let_retries_come()
    assert (polls("Transient"), jobs("done"), jobs("failed")) == (before + 1, done, failed + 1)


async def test_open_breakers_are_shown(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.bench.fail("list.began", SimTimeout("list"))
    for _ in range(5):
        await listed.check(dex)
        await listed.let_retries_come()
    assert (await listed.host()).open_until is not None
    await listed.bench.parts.tick().tick(listed.bench.clock.now())
    assert sample("headgate_breakers", of="host", state="open") == 1
