"""Polls and their hosts: who is paced or told to wait is put off and says so; nobody else waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from listing_bench import ListingBench
from psycopg import AsyncCursor

from headgate.domain.errors import RateLimited, UserError
from headgate.domain.listings.listings import Listed
from headgate.domain.pacing import LanePlan, Pace
from headgate.intake.listings.host_pace import get_host, set_host_pace
from headgate.intake.listings.poll import WHOLE_EVERY
from headgate.storage.lanes.lanes import Q as LANES
from headgate.storage.lanes.lanes import change_lanes
from headgate.storage.listings.listing_overview import list_listings, list_troubled_listings
from headgate.storage.listings.listings import Q as LISTINGS
from headgate.testing.platform.odd_answers import PlainList

DAY = timedelta(days=1)


async def slow_down(listed: ListingBench, host: str) -> None:
    """Let a host be asked every three seconds, which a call with patience would wait for."""
    owner = f"host:simulated/{host}"
    plan = LanePlan("list", Pace(per_minute=20, burst=2, daily_cap=None))
    await listed.bench.do(
        lambda tx: change_lanes(tx, owners=[owner], plans=[plan], established=None, by_person=True)
    )


async def test_polls_of_a_paced_host_wait_outside_of_their_slots_one_behind_the_other(
    listed: ListingBench,
) -> None:
    first = await listed.add("first", host="slow.example")
    await listed.work()
    await slow_down(listed, "slow.example")
    others = [await listed.add(f"other-{n}", host="slow.example") for n in range(6)]
    healthy = await listed.add("healthy", host="quick.example")
    began_at = listed.bench.clock.now()
    await listed.ask(first)
    await listed.work()
    assert listed.bench.clock.now() == began_at
    assert (await listed.state(healthy)).polls == 1
    states = [await listed.state(one) for one in others]
    waiting = [state for state in states if state.polls == 0]
    assert len(waiting) >= 2
    assert {state.reason for state in waiting} <= {"paced", "limited"}
    due = sorted(state.due_at for state in waiting if state.due_at is not None)
    assert all(at > began_at for at in due)
    assert len(set(due)) == len(due)


async def set_pace(listed: ListingBench, per_minute: float | None) -> None:
    parts = listed.bench.parts
    async with listed.bench.database.transaction() as tx:
        host = await get_host(tx, "simulated/slow.example")
        await set_host_pace(tx, parts.links, host, per_minute=per_minute, clock=parts.clock)


async def waiting_times(listed: ListingBench) -> list[float]:
    """Return in how many seconds each check that waits for the host's pace is due, the next first."""
    async with listed.bench.database.transaction() as tx:
        states = await list_listings(tx, limit=100)
    now = listed.bench.clock.now()
    return sorted(
        (one.due_at - now).total_seconds() for one in states if one.due_at and one.reason == "paced"
    )


async def test_checks_are_put_off_by_the_pace_of_their_own_host(listed: ListingBench) -> None:
    await listed.add("first", host="slow.example")
    await listed.work()
    await slow_down(listed, "slow.example")
    await set_pace(listed, 2)
    for n in range(4):
        await listed.add(f"other-{n}", host="slow.example")
    await listed.work()
    times = await waiting_times(listed)
    assert len(times) >= 3
    assert [round(later - earlier, 3) for earlier, later in pairwise(times)] == [30.0] * (len(times) - 1)


async def test_who_waits_for_a_host_is_planned_anew_when_its_pace_changes(listed: ListingBench) -> None:
    await listed.add("first", host="slow.example")
    await listed.work()
    await slow_down(listed, "slow.example")
    await set_pace(listed, 0.5)
    for n in range(4):
        await listed.add(f"other-{n}", host="slow.example")
    await listed.work()
    slow = await waiting_times(listed)
    assert slow[-1] > 240
    await set_pace(listed, 60)
    assert await waiting_times(listed) == [float(n) for n in range(len(slow))]
    host = await listed.host()
    assert (host.per_minute, host.pace_set, host.paced) == (60, True, len(slow))


async def test_a_hosts_pace_goes_back_to_the_default(listed: ListingBench) -> None:
    await listed.add("first", host="slow.example")
    await listed.work()
    before = await listed.host()
    await set_pace(listed, 2)
    await set_pace(listed, None)
    after = await listed.host()
    assert (after.per_minute, after.pace_set) == (before.per_minute, False)


@pytest.mark.parametrize("per_minute", [0, -1, 60_001, float("nan")])
async def test_an_impossible_pace_of_a_host_is_refused(listed: ListingBench, per_minute: float) -> None:
    await listed.add("first", host="slow.example")
    with pytest.raises(UserError, match="requests a minute"):
        await set_pace(listed, per_minute)


async def test_a_host_that_asks_to_wait_is_shown_with_reason_and_time(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    await listed.work()
    listed.bench.fail("list.began", RateLimited("asks to wait (429)", retry_after_s=7200))
    await listed.check(dex)
    now = listed.bench.clock.now()
    state = await listed.state(dex)
    assert (state.reason, state.due_at) == ("limited", now + timedelta(hours=2))
    health = state.health(now=now)
    assert (health.kind, health.word, health.until) == ("warn", "asked to wait", state.due_at)
    assert (await listed.host()).limited_until == state.due_at
    assert await listed.texts("jobs") == []


async def test_an_absurd_wait_is_a_day(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.bench.fail("list.began", RateLimited("asks to wait (429)", retry_after_s=10**9))
    await listed.work()
    assert (await listed.state(dex)).due_at == listed.bench.clock.now() + DAY


class Site:
    """Answers that a listing is unchanged whenever it is asked with a validator."""

    def __init__(self, *warnings: str) -> None:
        self.warnings = warnings
        self.asked: list[Mapping[str, str]] = []

    def list(self, _plain: PlainList, cursor: Mapping[str, str]) -> Listed:
        self.asked.append(dict(cursor))
        if cursor:
            return Listed((), dict(cursor), unchanged=True)
        return Listed((), {"etag": "1"}, warnings=self.warnings)


@pytest.fixture
def site(listed: ListingBench) -> Site:
    site = Site("of 3,225 entries only the newest 2,000 are kept")
    listed.bench.world.on_list = site.list
    return site


async def poll_when_due(listed: ListingBench, times: int) -> None:
    for _ in range(times):
        await listed.pass_time(days=2)
        await listed.work()


async def test_a_warning_lasts_until_a_whole_poll_succeeded(listed: ListingBench, site: Site) -> None:
    dex = await listed.add("dex")
    await listed.work()
    await poll_when_due(listed, 1)
    assert site.asked[-1] == {"etag": "1"}
    assert "3,225" in (await listed.state(dex)).warning
    site.warnings = ()
    await listed.check(dex)
    assert (await listed.state(dex)).warning == ""


async def test_a_persons_check_asks_for_everything(listed: ListingBench, site: Site) -> None:
    dex = await listed.add("dex")
    await listed.work()
    await listed.check(dex)
    assert site.asked == [{}, {}]


async def test_now_and_then_everything_is_asked_for(listed: ListingBench, site: Site) -> None:
    await listed.add("dex")
    await listed.work()
    await poll_when_due(listed, WHOLE_EVERY)
    assert site.asked.count({}) == 2


@pytest.mark.parametrize("hidden", [True, False], ids=["hidden", "not hidden"])
async def test_a_server_that_hides_news_is_named_and_fetched_whole_from_then_on(
    listed: ListingBench, hidden: bool
) -> None:
    asked: list[Mapping[str, str]] = []

    def say_unchanged(plain: PlainList, cursor: Mapping[str, str]) -> Listed:
        asked.append(dict(cursor))
        return (
            Listed((), dict(cursor), unchanged=True) if cursor else replace(plain({}), cursor={"etag": "1"})
        )

    listed.bench.world.on_list = say_unchanged
    dex = await listed.add("dex")
    listed.publish("dex", "1")
    await listed.work()
    if hidden:
        await listed.pass_time(hours=1)
        listed.publish("dex", "2")
    await poll_when_due(listed, 2)
    assert await listed.numbers(dex.series_id) == ["1"]
    if not hidden:
        listed.publish("dex", "2")
    await listed.check(dex)
    assert sorted(await listed.numbers(dex.series_id)) == ["1", "2"]
    async with listed.bench.database.transaction() as tx:
        troubled = [(one.title, one.trouble) for one in await list_troubled_listings(tx)]
    assert troubled == ([("dex", "blind")] if hidden else [])
    await poll_when_due(listed, 1)
    assert asked[-1] == ({} if hidden else {"etag": "1"})


async def test_an_unchanged_poll_writes_its_times_and_nothing_else(listed: ListingBench, site: Site) -> None:
    dex = await listed.add("dex")
    await listed.work()
    mark, polls = await listed.mark(), (await listed.state(dex)).polls
    await poll_when_due(listed, 1)
    state = await listed.state(dex)
    assert await listed.written_since(mark) == {"listing": 1}
    assert (state.polls, state.succeeded_at) == (polls + 1, listed.bench.clock.now())
    assert site.asked[-1]


async def test_a_switch_turned_while_an_unchanged_answer_comes_counts(
    listed: ListingBench, site: Site
) -> None:
    dex = await listed.add("dex")
    await listed.work()
    listed.bench.at_next("list.after_effect", lambda: listed.bench.switch("dex", on=False))
    await poll_when_due(listed, 1)
    assert site.asked[-1]
    state = await listed.state(dex)
    assert (state.due_at, state.reason) == (None, "disabled")


async def test_polls_that_begin_together_share_their_questions_to_the_database(
    listed: ListingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes of new hosts, what is known of the listings, and permits: not a statement for each."""
    for n in range(8):
        await listed.add(f"site-{n}", host=f"site-{n}.example")
    sent: list[str] = []
    execute = AsyncCursor[Any].execute

    async def count(cursor: AsyncCursor[Any], query: Any, *arguments: Any, **options: Any) -> Any:
        sent.append(str(query))
        return await execute(cursor, query, *arguments, **options)

    monkeypatch.setattr(AsyncCursor, "execute", count)
    assert await listed.step_beside(8) == 8
    for query in (LISTINGS["list_listings"], LANES["insert_lanes"], LANES["take_permits"]):
        assert 1 <= sum(query.sql in each for each in sent) <= 4, query.sql
