"""A process's way to the lanes, on a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from headgate.connectors.protocol import LaneDefault
from headgate.domain.errors import RateLimited
from headgate.domain.pacing import DAY_S, HORIZON_S, LanePlan, UnknownLane
from headgate.kernel.clock import VirtualClock
from headgate.lanes import ComeBack, ComeBackLater, Lanes, Pace, Permit, PermitVoid, plan_lanes
from headgate.storage.database import Database
from headgate.storage.lanes.lanes import (
    LaneChange,
    LaneRow,
    Want,
    change_lanes,
    list_lane_changes,
    list_lanes,
    take_permits,
)
from headgate.storage.queries import QueryFile

Result = TypeVar("Result")

Q = QueryFile(
    "test",
    """
-- name: count_waiting
select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
""",
)
SEND = [LanePlan("send", Pace(40))]


@pytest.fixture
async def lanes(database: Database, clock: VirtualClock) -> Lanes:
    lanes = Lanes(database, clock)
    await lanes.ensure("ada", SEND, established=True)
    return lanes


async def run(clock: VirtualClock, work: Coroutine[Any, Any, Result]) -> Result:
    """Carry out work that waits on the clock: time jumps whenever it sleeps."""
    task = asyncio.create_task(work)
    while not task.done():
        wake_s = clock.next_wake_s()
        if wake_s is None:
            await asyncio.wait({task}, timeout=0.001)
        else:
            clock.advance(wake_s - clock.monotonic())
            await asyncio.sleep(0)
    return task.result()


async def acquired(lanes: Lanes, count: int = 1, *, closes_at_s: float | None = None) -> list[Permit]:
    permits = await lanes.acquire("ada", "send", count, closes_at_s=closes_at_s)
    assert isinstance(permits, list)
    return permits


async def call(lanes: Lanes, owner: str = "ada", kind: str = "send") -> None:
    async with lanes.call(owner, kind):
        pass


async def row(database: Database, owner: str = "ada", kind: str = "send") -> LaneRow:
    async with database.transaction() as tx:
        return next(lane for lane in await list_lanes(tx, owner=owner) if lane.kind == kind)


async def changes(database: Database, kind: str = "send") -> list[LaneChange]:
    async with database.transaction() as tx:
        return await list_lane_changes(tx, owner="ada", kind=kind)


async def until_somebody_waits_for_a_lock(database: Database) -> None:
    for _ in range(2000):
        async with database.transaction() as tx:
            if await tx.value(Q["count_waiting"]):
                return
    raise AssertionError("nobody waits")


async def test_calls_go_out_at_the_lanes_pace(lanes: Lanes, clock: VirtualClock) -> None:
    times_s: list[float] = []

    async def send_all() -> None:
        while len(times_s) < 100:
            for permit in await acquired(lanes, 3):
                await lanes.wait(permit)
                lanes.spend(permit)
                times_s.append(clock.monotonic())

    await run(clock, send_all())
    assert max(sum(start <= time_s <= start + 60 for time_s in times_s) for start in times_s) <= 43
    assert times_s[-1] <= 100 * 1.5


async def test_a_handler_never_waits_longer_than_five_seconds(lanes: Lanes, clock: VirtualClock) -> None:
    full = await lanes.acquire("ada", "send", 100)
    assert isinstance(full, list)
    with pytest.raises(ComeBackLater) as refused:
        await run(clock, call(lanes))
    assert clock.monotonic() == 0
    assert refused.value.delay_s > 5
    clock.advance(refused.value.delay_s)
    await run(clock, call(lanes))


async def test_a_refused_request_consumes_nothing(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    await lanes.acquire("ada", "send", 100)
    before = await row(database)
    answers = [await lanes.acquire("ada", "send") for _ in range(5)]
    assert all(isinstance(answer, ComeBack) for answer in answers)
    assert await row(database) == before


async def test_a_restart_brings_no_fresh_burst(lanes: Lanes, clock: VirtualClock, database: Database) -> None:
    first = await acquired(lanes, 100)
    for _ in range(5):
        restarted = Lanes(database, clock)
        await restarted.ensure("ada", SEND, established=True)
        assert isinstance(await restarted.acquire("ada", "send", 100), ComeBack)
    clock.advance(1.5)
    assert len(first) + len(await acquired(Lanes(database, clock), 100)) <= 3 + (5 + 1.5) / 1.5


async def test_a_request_that_waited_for_another_sees_its_grants_and_the_present_time(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    async with database.transaction() as tx:
        first = (await take_permits(tx, [Want("ada", "send", 100, HORIZON_S)]))[0]
        waiting = asyncio.create_task(lanes.acquire("ada", "send"))
        await until_somebody_waits_for_a_lock(database)
        clock.advance(1.2)
    second = await waiting
    assert first is not None
    assert first.delays_s[-1] == pytest.approx(4.5)
    assert isinstance(second, list)
    assert second[0].due_at_s == pytest.approx(6.0)


async def test_a_paused_process_does_not_fire_its_stock(lanes: Lanes, clock: VirtualClock) -> None:
    stock = await acquired(lanes, 3)
    clock.advance(60)
    for permit in stock:
        with pytest.raises(PermitVoid, match="late"):
            lanes.spend(permit)


async def test_a_permit_is_good_for_one_call(lanes: Lanes) -> None:
    (permit,) = await acquired(lanes)
    lanes.spend(permit)
    with pytest.raises(PermitVoid, match="spent"):
        lanes.spend(permit)


async def test_no_permit_outlives_the_close_of_a_window(lanes: Lanes, clock: VirtualClock) -> None:
    permits = await acquired(lanes, 100, closes_at_s=1.0)
    assert all(permit.due_at_s <= 1.0 for permit in permits)
    clock.advance(1.0)
    with pytest.raises(PermitVoid, match="closed"):
        lanes.spend(permits[0])


async def test_a_limit_signal_slows_the_lane_and_voids_the_stock(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    first, second, *_ = await acquired(lanes, 3)
    await lanes.signal_limit(first, retry_after_s=30)
    with pytest.raises(PermitVoid, match="outdated"):
        lanes.spend(second)
    answer = await lanes.acquire("ada", "send")
    assert isinstance(answer, ComeBack)
    assert answer.delay_s == pytest.approx(30)
    slowed = await row(database)
    assert (slowed.rate, slowed.rate_cause, slowed.cool_down_s) == (20, "limit_signal", 30)


async def test_another_process_learns_of_void_stock_from_the_notice_or_its_next_request(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    hearing, asking = Lanes(database, clock), Lanes(database, clock)
    (heard,) = await acquired(hearing)
    (asked,) = await acquired(asking)
    await lanes.signal_limit(heard, retry_after_s=30)
    hearing.hear('{"owner": "ada", "kind": "send", "epoch": 2}')
    assert hearing.refusal(heard) == "outdated"
    await asking.acquire("ada", "send")
    assert asking.refusal(asked) == "outdated"


async def test_a_flood_of_signals_halves_the_rate_once(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    for permit in await acquired(lanes, 3):
        await lanes.signal_limit(permit, retry_after_s=10)
    assert (await row(database)).rate == 20
    assert [(change.from_rate, change.to_rate, change.cause) for change in await changes(database)] == [
        (40, 20, "limit_signal")
    ]


async def test_a_rate_limit_in_a_call_reaches_the_lane_and_the_caller(
    lanes: Lanes, database: Database
) -> None:
    with pytest.raises(RateLimited, match="slow down"):
        async with lanes.call("ada", "send"):
            raise RateLimited("slow down", retry_after_s=12)
    assert (await row(database)).cool_down_s == pytest.approx(12)


async def test_our_own_waiting_is_no_limit_signal(lanes: Lanes, database: Database) -> None:
    with pytest.raises(ComeBackLater):
        async with lanes.call("ada", "send"):
            raise ComeBackLater(9)
    assert (await row(database)).rate == 40


async def test_the_record_tells_how_the_rate_fell_and_came_back(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    (permit,) = await acquired(lanes)
    await lanes.signal_limit(permit, retry_after_s=5)
    for _ in range(2):
        clock.advance(1200)
        await acquired(lanes)
    told = [(change.from_rate, change.to_rate, change.cause) for change in await changes(database)]
    assert told == [(28, 36, "recovered"), (20, 28, "recovered"), (40, 20, "limit_signal")]


async def test_kinds_that_share_a_budget_count_together(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    manifest = {"send": LaneDefault(40, shared="all"), "upload": LaneDefault(40, shared="all")}
    plans = plan_lanes(manifest)  # pyright: ignore[reportArgumentType]
    await lanes.ensure("eve", plans, established=True)
    sends = await lanes.acquire("eve", "send", 100)
    assert isinstance(sends, list)
    assert isinstance(await lanes.acquire("eve", "upload"), ComeBack)
    await lanes.signal_limit(sends[0], retry_after_s=60)
    assert (await row(database, "eve", "budget:all")).rate == 20
    assert (await row(database, "eve", "upload")).rate == 40


async def test_accounts_do_not_wait_for_each_other(lanes: Lanes) -> None:
    await lanes.ensure("eve", SEND, established=True)
    await lanes.acquire("ada", "send", 100)
    assert isinstance(await lanes.acquire("eve", "send"), list)


async def adjust(database: Database, pace: Pace) -> None:
    """Set the pace of a lane as a person does."""
    async with database.transaction() as tx:
        plan = LanePlan("send", pace)
        await change_lanes(tx, owners=["ada"], plans=[plan], established=None, by_person=True)


async def test_the_daily_cap_holds_across_the_hours(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    await adjust(database, Pace(40, daily_cap=6))
    granted = 0
    while clock.monotonic() < DAY_S:
        answer = await lanes.acquire("ada", "send", 2)
        granted += len(answer) if isinstance(answer, list) else 0
        clock.advance(3600)
    assert granted == 6


async def test_a_new_account_begins_at_ten_a_minute_and_warms_up(
    lanes: Lanes, clock: VirtualClock, database: Database
) -> None:
    await lanes.ensure("eve", SEND, established=False)
    rates: list[float] = []
    for _ in range(5):
        await lanes.acquire("eve", "send")
        rates.append((await row(database, "eve")).rate)
        clock.advance(DAY_S)
    assert rates == [10, 20, 30, 40, 40]


async def test_a_person_outranks_the_defaults(lanes: Lanes, database: Database) -> None:
    await adjust(database, Pace(25, burst=2, daily_cap=500))
    await lanes.ensure("ada", [LanePlan("send", Pace(60))], established=True)
    adjusted = await row(database)
    assert (adjusted.ceiling, adjusted.burst, adjusted.daily_cap, adjusted.pinned) == (25, 2, 500, True)
    assert [change.cause for change in await changes(database)] == ["adjusted"]


async def test_new_defaults_reach_lanes_that_nobody_adjusted(lanes: Lanes, database: Database) -> None:
    await lanes.ensure("ada", [LanePlan("send", Pace(60))], established=True)
    assert (await row(database)).rate == 60
    assert [change.cause for change in await changes(database)] == ["settings"]


async def test_a_call_without_a_lane_is_refused(lanes: Lanes) -> None:
    with pytest.raises(UnknownLane, match="no lane for read of ada"):
        await lanes.acquire("ada", "read")


async def test_an_owner_that_is_gone_leaves_nothing(lanes: Lanes, database: Database) -> None:
    (permit,) = await acquired(lanes)
    await lanes.signal_limit(permit, retry_after_s=0)
    await lanes.forget("ada")
    assert await changes(database) == []
    with pytest.raises(UnknownLane):
        await lanes.acquire("ada", "send")


async def test_calls_are_counted_by_day_as_the_last_day_counts_them(lanes: Lanes, database: Database) -> None:
    await acquired(lanes, 3)
    await acquired(lanes)
    async with database.transaction() as tx:
        (row,) = await list_lanes(tx, owner="ada")
        days = await tx.raw("select kind, sum(calls)::int as calls from lane_day group by kind", [])
    assert row.used_today == 4
    assert days == [{"kind": "send", "calls": 4}]


async def test_a_plan_says_whether_its_calls_are_counted_by_day(lanes: Lanes, database: Database) -> None:
    plan = LanePlan("list", Pace(60, burst=3), by_day=False)
    await lanes.ensure("host:feeds/example.org", [plan], established=True)
    await lanes.acquire("host:feeds/example.org", "list")
    async with database.transaction() as tx:
        (row,) = await list_lanes(tx, owner="host:feeds/example.org")
        assert await tx.raw("select from lane_day", []) == []
    assert row.used_today == 1
