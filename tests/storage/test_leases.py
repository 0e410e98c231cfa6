"""Leases: one holder at a time, and a late one changes nothing."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest

from headgate.kernel.clock import Clock, RealClock, VirtualClock
from headgate.storage.database import Database
from headgate.storage.jobs.leases import (
    Lease,
    LeaseKeeper,
    LeaseLost,
    release_lease,
    renew_lease,
    take_lease,
)
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "test",
    """
-- name: list_holders
select holder from lease

-- name: get_left_s
select extract(epoch from expires_at - headgate_real_now())::float8 from lease

-- name: pass_an_hour
create or replace function headgate_real_now() returns timestamptz language sql volatile
return clock_timestamp() + interval '1 hour'

-- name: lock_lease
select name from lease where name = 'tick' for update

-- name: insert_effect
insert into lease (name, token, holder, expires_at) values ('effect', gen_random_uuid(), '', now())

-- name: count_effects
select count(*) from lease where name = 'effect'
""",
)

_TOKENS = itertools.count(1)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(datetime(2026, 3, 1, tzinfo=UTC))


async def take(
    database: Database, clock: Clock, holder: str, *, ttl_s: float = 30.0, token: UUID | None = None
) -> Lease | None:
    token = token or UUID(int=next(_TOKENS))
    return await take_lease(database, clock, name="tick", holder=holder, token=token, ttl_s=ttl_s)


async def taken(database: Database, clock: Clock, holder: str, *, ttl_s: float = 30.0) -> Lease:
    lease = await take(database, clock, holder, ttl_s=ttl_s)
    assert lease is not None
    return lease


async def pass_an_hour(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute(Q["pass_an_hour"])


async def test_a_lease_has_one_holder(database: Database, clock: VirtualClock) -> None:
    await taken(database, clock, "ada")
    assert await take(database, clock, "eve") is None
    async with database.transaction() as tx:
        assert await tx.column(Q["list_holders"]) == ["ada"]


async def test_a_repeated_request_finds_its_own_lease(database: Database, clock: VirtualClock) -> None:
    lease = await taken(database, clock, "ada")
    assert await take(database, clock, "ada", token=lease.token) == lease


async def test_a_released_lease_is_free_at_once(database: Database, clock: VirtualClock) -> None:
    lease = await taken(database, clock, "ada")
    assert await release_lease(database, lease)
    assert not await release_lease(database, lease)
    await taken(database, clock, "eve")


async def test_an_expired_lease_can_be_taken_and_not_renewed(database: Database, clock: VirtualClock) -> None:
    lease = await taken(database, clock, "ada")
    await pass_an_hour(database)
    assert await renew_lease(database, clock, lease) is None
    await taken(database, clock, "eve")
    assert not await release_lease(database, lease)


async def test_a_renewed_lease_lasts_longer(database: Database, clock: VirtualClock) -> None:
    lease = await taken(database, clock, "ada", ttl_s=3500)
    clock.advance(10)
    renewed = await renew_lease(database, clock, lease)
    assert renewed is not None
    assert renewed.deadline_s == lease.deadline_s + 10
    async with database.transaction() as tx:
        left_s = await tx.value(Q["get_left_s"])
    assert 3400 < left_s <= 3500


@dataclass(frozen=True)
class Held:
    from_s: float
    to_s: float


async def test_two_holders_never_overlap_by_their_own_clocks(database: Database) -> None:
    clock = RealClock()
    held: list[Held] = []

    async def contend(holder: str) -> None:
        while len(held) < 12:
            lease = await take(database, clock, holder, ttl_s=0.15)
            if lease is None:
                await asyncio.sleep(0)
                continue
            got_at_s = clock.monotonic()
            if len(held) % 2:
                lease = await renew_lease(database, clock, lease) or lease
            held.append(Held(got_at_s, lease.deadline_s))

    await asyncio.gather(*(contend(f"holder {number}") for number in range(4)))
    held.sort(key=lambda span: span.from_s)
    assert all(earlier.to_s < later.from_s for earlier, later in itertools.pairwise(held))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what the database and the keeper's tasks bring about."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never happened")


async def test_a_keeper_renews_in_time_and_releases_at_the_end(
    database: Database, clock: VirtualClock
) -> None:
    lease = await taken(database, clock, "ada")
    async with LeaseKeeper(database, clock, lease) as keeper:
        await until(lambda: clock.next_wake_s() is not None)
        for turn in range(1, 10):
            clock.advance(15)
            await until(lambda turn=turn: keeper.lease.deadline_s == lease.deadline_s + 15 * turn)
            assert keeper.held
    await taken(database, clock, "eve")


async def test_work_under_a_lost_lease_is_cancelled(database: Database, clock: VirtualClock) -> None:
    lease = await taken(database, clock, "ada")
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async with LeaseKeeper(database, clock, lease) as keeper:
        running = asyncio.create_task(keeper.run(work()))
        await until(lambda: clock.next_wake_s() is not None)
        await pass_an_hour(database)
        await taken(database, clock, "eve")
        clock.advance(15)
        with pytest.raises(LeaseLost):
            await running
    assert ended == ["cancelled"]
    assert await take(database, clock, "ada") is None


async def test_work_that_ends_gives_its_result(database: Database, clock: VirtualClock) -> None:
    async def work() -> int:
        return 42

    async with LeaseKeeper(database, clock, await taken(database, clock, "ada")) as keeper:
        assert await keeper.run(work()) == 42


async def test_a_holder_that_cannot_renew_gives_up_before_anybody_else_can_have_the_lease(
    database: Database, clock: VirtualClock
) -> None:
    lease = await taken(database, clock, "ada", ttl_s=3000)
    async with LeaseKeeper(database, clock, lease) as keeper:
        async with database.transaction() as tx:
            await tx.execute(Q["lock_lease"])
            await until(lambda: clock.next_wake_s() is not None)
            clock.advance(2699)
            assert keeper.held
            clock.advance(1)
            assert not keeper.held
            await until(keeper.lost.is_set)
        assert clock.monotonic() < 3000
    assert await take(database, clock, "eve") is None


async def _keep_for_a_moment(database: Database, clock: VirtualClock, lease: Lease) -> None:
    async with LeaseKeeper(database, clock, lease):
        pass


async def test_a_keeper_that_cannot_release_its_lease_leaves_it_to_expire(
    database_url: str, clock: VirtualClock
) -> None:
    small = Database(database_url, clock, size=2)
    await small.open()
    try:
        lease = await taken(small, clock, "ada")
        async with small.transaction(), small.transaction():
            ending = asyncio.create_task(_keep_for_a_moment(small, clock, lease))
            # Nothing but the last time-out is waited for: no connection comes free.
            await until(lambda: clock.next_wake_s() == clock.monotonic() + 1.0)
            clock.advance(1)
            await ending
        assert await take(small, clock, "eve") is None
        await pass_an_hour(small)
        await taken(small, clock, "eve")
    finally:
        await small.close()


async def test_a_keeper_does_not_renew_what_a_statement_renewed_in_passing(
    database: Database, clock: VirtualClock
) -> None:
    lease = await taken(database, clock, "ada")
    async with LeaseKeeper(database, clock, lease) as keeper:
        await until(lambda: clock.next_wake_s() is not None)
        clock.advance(9)
        keeper.renewed(clock.monotonic())
        clock.advance(9)
        assert keeper.lease.deadline_s == lease.deadline_s + 9
        assert keeper.held


async def test_a_lease_that_is_released_with_a_transaction_is_free_when_that_commits(
    database: Database, clock: VirtualClock
) -> None:
    async with LeaseKeeper(database, clock, await taken(database, clock, "ada")) as keeper:
        async with database.transaction() as tx:
            await keeper.release_with(tx)
        await taken(database, clock, "eve")
    assert await take(database, clock, "ada") is None
