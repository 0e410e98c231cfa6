"""A host that fails for an hour and comes back: few calls, visible states, and nothing lost."""

from __future__ import annotations

import pytest
from listing_bench import ListingBench

from headgate.domain.breaker import Breaker, state_of
from headgate.domain.errors import Absent
from headgate.storage.listings.listing_overview import HostState
from headgate.testing.platform.errors import SimTimeout

LISTINGS = 40
MAX_CALLS = 15
"""Five failed looks and their retries until the breaker opens, and one probe each time that it lets one."""


def breaker_of(listed: ListingBench, host: HostState) -> str:
    breaker = Breaker(host.failures, host.opened, host.open_until)
    return state_of(breaker, now=listed.bench.clock.now())


@pytest.mark.long
async def test_an_hour_of_outage_costs_few_calls_and_loses_nothing(listed: ListingBench) -> None:
    added = [await listed.add(f"series-{n}") for n in range(LISTINGS)]
    for one in range(LISTINGS):
        listed.publish(f"series-{one}", "1")
    await listed.work()
    listed.bench.fail("list.began", SimTimeout("list"))
    before = listed.calls()
    states: set[str] = set()
    for minute in range(60):
        if minute == 30:
            for one in range(LISTINGS):
                listed.publish(f"series-{one}", "2")
        await listed.pass_time(minutes=1)
        await listed.work()
        states.add(breaker_of(listed, await listed.host()))
    assert 5 <= listed.calls() - before <= MAX_CALLS
    assert states >= {"closed", "open"}
    host = await listed.host()
    assert (host.error_class, host.listings) == ("Transient", LISTINGS)
    listed.bench.mend()
    for _ in range(100):
        await listed.pass_time(minutes=1)
        await listed.work()
    assert breaker_of(listed, await listed.host()) == "closed"
    for one in added:
        assert await listed.numbers(one.series_id) == ["1", "2"]


async def test_a_half_open_host_is_probed_by_one_listing_alone(listed: ListingBench) -> None:
    for n in range(10):
        await listed.add(f"series-{n}")
    listed.bench.fail("list.began", SimTimeout("list"))
    while breaker_of(listed, await listed.host()) == "closed":
        await listed.pass_time(minutes=1)
        await listed.work()
    before = listed.calls()
    await listed.pass_time(minutes=6)
    assert breaker_of(listed, await listed.host()) == "half_open"
    await listed.step_beside(5)
    await listed.work()
    assert listed.calls() == before + 1
    host = await listed.host()
    assert (breaker_of(listed, host), host.opened) == ("open", 2)


async def test_the_others_go_on_when_the_host_answers_the_probe(listed: ListingBench) -> None:
    added = [await listed.add(f"series-{n}") for n in range(10)]
    for n in range(10):
        listed.publish(f"series-{n}", "1")
    listed.bench.fail("list.began", SimTimeout("list"))
    while breaker_of(listed, await listed.host()) == "closed":
        await listed.pass_time(minutes=1)
        await listed.work()
    listed.bench.mend()
    await listed.pass_time(minutes=6)
    await listed.work()
    known = [await listed.numbers(one.series_id) for one in added]
    assert known.count(["1"]) >= 5
    for _ in range(12):
        await listed.pass_time(minutes=30)
        await listed.work()
    assert all([await listed.numbers(one.series_id) == ["1"] for one in added])


async def test_an_absent_feed_is_not_the_fault_of_its_host(listed: ListingBench) -> None:
    lost = [await listed.add(f"lost-{n}") for n in range(8)]
    listed.bench.fail("list.began", Absent("it is not there (404)"))
    for _ in range(8):
        await listed.pass_time(minutes=6)
        await listed.work()
    assert (await listed.host()).failures == 0
    assert (await listed.state(lost[0])).failures >= 5
    listed.bench.mend()
    dex = await listed.add("dex")
    listed.publish("dex", "1")
    await listed.work()
    assert await listed.numbers(dex.series_id) == ["1"]
