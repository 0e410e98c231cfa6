"""Transactions."""

from __future__ import annotations

import asyncio

import anyio
import psycopg
import pytest
from psycopg_pool import PoolClosed

from headgate.kernel.clock import RealClock
from headgate.storage.database import Database, wait_for_server
from headgate.storage.errors import Collided, Refused
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "test",
    """
-- name: insert_lease
insert into lease (name, token, holder, expires_at) values (%(name)s, gen_random_uuid(), '', 'infinity')

-- name: count_leases
select count(*) from lease

-- name: own_backend
select pg_backend_pid()

-- name: sleep_long
select pg_sleep(50)

-- name: count_sleepers
select count(*) from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%%'
and state <> 'idle'
""",
)


async def test_a_failing_transaction_leaves_nothing(database: Database) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        async with database.transaction() as tx:
            await tx.execute(Q["insert_lease"], name="a")
            await tx.execute(Q["insert_lease"], name="a")
    async with database.transaction() as tx:
        assert await tx.value(Q["count_leases"]) == 0


async def test_a_finished_transaction_is_kept(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute(Q["insert_lease"], name="a")
    async with database.transaction() as tx:
        assert await tx.value(Q["count_leases"]) == 1


async def test_of_two_that_wait_in_a_circle_one_gives_way_and_leaves_nothing(database: Database) -> None:
    outcomes: list[str] = []
    both_have_one = asyncio.Barrier(2)

    async def take(first: str, second: str) -> None:
        try:
            async with database.transaction() as tx:
                await tx.execute(Q["insert_lease"], name=first)
                await both_have_one.wait()
                await tx.execute(Q["insert_lease"], name=second)
        except (Collided, psycopg.errors.UniqueViolation) as error:
            outcomes.append(type(error).__name__)
        else:
            outcomes.append("done")

    await asyncio.gather(take("a", "b"), take("b", "a"))
    assert sorted(outcomes) == ["Collided", "done"]
    async with database.transaction() as tx:
        assert await tx.value(Q["count_leases"]) == 2


async def cancel_in_the_middle(database: Database) -> None:
    """Cancel a statement under way as web requests are cancelled: again and again until all has ended."""
    async with anyio.create_task_group() as group:

        async def sleep_long() -> None:
            async with database.transaction() as tx:
                await tx.execute(Q["insert_lease"], name="a")
                await tx.execute(Q["sleep_long"])

        group.start_soon(sleep_long)
        while not await count_sleepers(database):
            pass
        group.cancel_scope.cancel()


async def count_sleepers(database: Database) -> int:
    async with database.transaction() as tx:
        return await tx.value(Q["count_sleepers"])


async def test_a_cancelled_transaction_ends_in_the_server_too(database: Database) -> None:
    await cancel_in_the_middle(database)
    with anyio.fail_after(30):
        while await count_sleepers(database):
            pass
    async with database.transaction() as tx:
        assert await tx.value(Q["count_leases"]) == 0


async def test_cancelled_transactions_do_not_use_up_the_pool(database_url: str) -> None:
    small = Database(database_url, RealClock(), size=2)
    await small.open()
    try:
        for _ in range(4):
            await cancel_in_the_middle(small)
        async with small.transaction() as one, small.transaction() as other:
            assert await one.value(Q["own_backend"]) != await other.value(Q["own_backend"])
    finally:
        await small.close()


async def test_a_cancelled_commit_or_block_gives_its_connection_back(database_url: str) -> None:
    small = Database(database_url, RealClock(), size=2)
    await small.open()
    try:
        for turn in range(4):
            with anyio.CancelScope() as scope:
                async with small.transaction() as tx:
                    await tx.execute(Q["insert_lease"], name=f"turn {turn}")
                    scope.cancel()
        async with small.transaction() as one, small.transaction() as other:
            assert await one.value(Q["own_backend"]) != await other.value(Q["own_backend"])
    finally:
        await small.close()


async def test_a_closed_pool_says_so(database_url: str) -> None:
    closed = Database(database_url, RealClock())
    await closed.open()
    await closed.close()
    with pytest.raises(PoolClosed):
        async with closed.transaction():
            pass


async def test_dead_connections_of_the_pool_are_passed_over(database: Database, database_url: str) -> None:
    async with database.transaction() as one, database.transaction() as other:
        pids = [await one.value(Q["own_backend"]), await other.value(Q["own_backend"])]
    with psycopg.connect(database_url, autocommit=True) as outside:
        outside.execute("select pg_terminate_backend(pid, 10000) from unnest(%s::int[]) as pid", (pids,))
    async with database.transaction() as tx:
        assert await tx.value(Q["own_backend"]) not in pids


async def test_a_server_that_refuses_us_is_not_waited_for(database_url: str) -> None:
    await wait_for_server(database_url.replace("/test_", "/missing_"), RealClock())
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(database_url.replace("/test_", "/missing_"))


async def test_a_refused_block_is_undone_and_the_rest_goes_on(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.raw("create table kept (number int check (number < 9))")
        await tx.raw("insert into kept values (1)")
        with pytest.raises(Refused, match="violates check constraint"):
            async with tx.attempt():
                await tx.raw("insert into kept values (2)")
                await tx.raw("insert into kept values (9)")
        async with tx.attempt():
            await tx.raw("insert into kept values (3)")
    async with database.transaction() as tx:
        assert await tx.raw("select number from kept order by 1") == [{"number": 1}, {"number": 3}]


async def test_a_wrong_statement_is_no_refusal_of_a_row(database: Database) -> None:
    with pytest.raises(psycopg.ProgrammingError):
        async with database.transaction() as tx, tx.attempt():
            await tx.raw("select * from nothing_of_that_name")


async def came_back(database: Database, connections: int) -> None:
    """Wait until so many connections are in the pool: tasks of its own bring them back."""
    pool = database._pool  # pyright: ignore[reportPrivateUsage]
    async with asyncio.timeout(10):
        while pool.get_stats()["pool_available"] < connections:  # noqa: ASYNC110 - the pool tells nobody
            await asyncio.sleep(0)


async def test_the_connection_that_came_back_last_is_lent_first(database: Database) -> None:
    async with database.autocommit() as outer:
        latest = await outer.value(Q["own_backend"])
        async with database.autocommit() as inner:
            assert await inner.value(Q["own_backend"]) != latest
        await came_back(database, 1)
    for _ in range(3):
        await came_back(database, 2)
        async with database.autocommit() as again:
            assert await again.value(Q["own_backend"]) == latest
