"""Permits that are taken ahead: for calls that follow each other, and never used after their time."""

from __future__ import annotations

import pytest

from headgate.domain.errors import RateLimited
from headgate.domain.pacing import LanePlan
from headgate.kernel.clock import VirtualClock
from headgate.lanes import Lanes, Pace
from headgate.lanes.lane import MAX_AHEAD, PermitStock
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "test",
    """
-- name: used
select sum(n) from lane, unnest(uses) as n
""",
)


@pytest.fixture
async def lanes(database: Database, clock: VirtualClock) -> Lanes:
    lanes = Lanes(database, clock)
    await lanes.ensure("ada", [LanePlan("download", Pace(60_000, burst=1_000))], established=True)
    return lanes


async def _call(lanes: Lanes, stock: PermitStock) -> None:
    async with lanes.call("ada", "download", stock=stock):
        pass


async def _used(database: Database) -> int:
    """Return how many permits the lane has counted."""
    async with database.transaction() as tx:
        return await tx.value(Q["used"])


async def test_all_permits_that_are_taken_ahead_are_used(lanes: Lanes, database: Database) -> None:
    stock = PermitStock()
    wishes: list[int] = []
    for left in range(100, 0, -1):
        stock.calls_left = left
        wishes.append(stock.wish)
        await _call(lanes, stock)
    assert max(wishes) == MAX_AHEAD
    assert await _used(database) == 100


async def test_a_permit_that_has_lapsed_is_replaced_and_fewer_are_taken(
    lanes: Lanes, clock: VirtualClock
) -> None:
    stock = PermitStock(calls_left=100)
    for _ in range(4):
        await _call(lanes, stock)
    assert stock.wish == 8
    clock.advance(60)
    await _call(lanes, stock)
    assert stock.wish == 2


async def test_a_limit_voids_what_was_taken_ahead(
    lanes: Lanes, database: Database, clock: VirtualClock
) -> None:
    stock = PermitStock(calls_left=100)
    for _ in range(4):
        await _call(lanes, stock)
    used = await _used(database)
    with pytest.raises(RateLimited):
        async with lanes.call("ada", "download", stock=stock):
            raise RateLimited("slow down", retry_after_s=60)
    with pytest.raises(RateLimited):
        await _call(lanes, stock)
    assert await _used(database) == used
