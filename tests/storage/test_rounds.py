"""What the sender writes in one statement: results, marks and leases of several accounts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from headgate.kernel.clock import RealClock
from headgate.outflow import rounds
from headgate.storage.database import Database, Tx
from headgate.storage.sending import NewRound, Result, Round, write_rounds

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)

_MAKE_RUN = """
insert into run (id, account_name, trigger, title, fire_at, zone, window_start, window_end, at_close, state,
    opens_at, created_at)
values ($1, 'main', 'person', 'a run', $2, 'UTC', 0, 1440, 'stop', $3, $2, $2)
"""
_MAKE_DELIVERIES = """
insert into delivery (run_id, number, target_key, target_title)
select $1, n, 'group-' || n, 'Group' from generate_series(1, $2::int) as n
"""
_MAKE_PARTS = """
insert into part (run_id, delivery, number, key)
select run_id, d.number, n, headgate_part_key(run_id, d.number, n)
from delivery d cross join generate_series(1, $2::int) as n where run_id = $1
"""
_MAKE_LEASE = """
insert into lease (name, holder, token, expires_at)
values ($1, 'send', $2, headgate_real_now() + make_interval(secs => $3))
"""


async def make_run(
    database: Database, *, deliveries: int, parts: int = 1, state: str = "running", lease_s: float = 5.0
) -> NewRound:
    """Make a run with a lease for its sender, and return a round that writes nothing."""
    run_id, token = uuid4(), uuid4()
    name = f"send:{run_id}"
    async with database.transaction() as tx:
        await tx.raw(_MAKE_RUN, (run_id, NOW, state))
        await tx.raw(_MAKE_DELIVERIES, (run_id, deliveries))
        await tx.raw(_MAKE_PARTS, (run_id, parts))
        await tx.raw(_MAKE_LEASE, (name, token, lease_s))
    return NewRound(run_id, name, token, (), ())


async def write(database: Database, *rounds: NewRound) -> list[Round]:
    async with database.autocommit() as tx:
        return await write_rounds(tx, rounds, ttl_s=10.0, now=NOW)


def marking(new: NewRound, *places: tuple[int, int]) -> NewRound:
    return NewRound(new.run_id, new.lease, new.token, (), places)


def telling(new: NewRound, *results: Result) -> NewRound:
    return NewRound(new.run_id, new.lease, new.token, results, ())


async def states(database: Database, run_id: UUID) -> list[tuple[str, str]]:
    """Return the states of each delivery and of its last message."""
    async with database.transaction() as tx:
        rows = await tx.raw(
            "select distinct on (d.number) d.state as delivery, p.state as part from delivery d"
            " join part p on p.run_id = d.run_id and p.delivery = d.number"
            " where d.run_id = $1 order by d.number, p.number desc",
            (run_id,),
        )
    return [(row["delivery"], row["part"]) for row in rows]


async def test_rounds_of_several_accounts_are_written_each_for_itself(database: Database) -> None:
    first, second = [await make_run(database, deliveries=2) for _ in range(2)]
    await write(database, marking(first, (1, 1)))
    sent = Result(1, 1, "sent", 1, message_key="m1", sent_at=NOW, took_ms=7, delivery_state="sent")
    mixed = NewRound(first.run_id, first.lease, first.token, (sent,), ((2, 1),))
    written = await write(database, mixed, marking(second, (1, 1), (2, 1)))
    assert [(one.held, one.marked) for one in written] == [(True, {(2, 1)}), (True, {(1, 1), (2, 1)})]
    assert await states(database, first.run_id) == [("sent", "sent"), ("sending", "sending")]
    assert await states(database, second.run_id) == [("sending", "sending")] * 2


async def test_one_account_that_lost_its_lease_does_not_hold_up_another(database: Database) -> None:
    lost = await make_run(database, deliveries=1, lease_s=-1.0)
    held = await make_run(database, deliveries=1)
    written = await write(database, marking(lost, (1, 1)), marking(held, (1, 1)))
    assert [(one.held, one.marked) for one in written] == [(False, set()), (True, {(1, 1)})]
    assert await states(database, lost.run_id) == [("pending", "planned")]


async def test_a_sender_without_its_lease_still_tells_what_came_of_its_messages(database: Database) -> None:
    run = await make_run(database, deliveries=1)
    await write(database, marking(run, (1, 1)))
    async with database.transaction() as tx:
        await tx.raw("update lease set expires_at = headgate_real_now() - interval '1 second'")
    (written,) = await write(database, telling(run, Result(1, 1, "sent", 1, delivery_state="sent")))
    assert not written.held
    assert await states(database, run.run_id) == [("sent", "sent")]


async def test_a_result_under_another_mark_than_its_own_is_not_written(database: Database) -> None:
    run = await make_run(database, deliveries=1)
    await write(database, marking(run, (1, 1)))
    stale = NewRound(
        run.run_id, run.lease, uuid4(), (Result(1, 1, "failed", 1, delivery_state="failed"),), ()
    )
    await write(database, stale)
    assert await states(database, run.run_id) == [("sending", "sending")]


async def test_nothing_is_marked_in_a_run_that_does_not_go_on(database: Database) -> None:
    paused = await make_run(database, deliveries=1, state="paused")
    (written,) = await write(database, marking(paused, (1, 1)))
    assert (written.held, written.marked) == (True, set())


async def test_the_time_of_a_delivery_is_that_of_all_its_messages(database: Database) -> None:
    run = await make_run(database, deliveries=1, parts=2)
    await write(database, marking(run, (1, 1)))
    await write(database, telling(run, Result(1, 1, "sent", 1, took_ms=7)))
    await write(database, marking(run, (1, 2)))
    await write(database, telling(run, Result(1, 2, "sent", 1, took_ms=5, delivery_state="sent")))
    async with database.transaction() as tx:
        assert await tx.raw("select latency_ms from delivery") == [{"latency_ms": 12}]


async def test_a_round_reads_its_own_rows_alone_also_in_a_run_that_grew(database: Database) -> None:
    small = await make_run(database, deliveries=1)
    async with database.transaction() as tx:
        await tx.raw("analyze part")
        await tx.raw("analyze delivery")
    large = await make_run(database, deliveries=2_000)
    sent = [Result(number, 1, "sent", 1, delivery_state="sent") for number in (1, 2)]
    async with database.transaction() as tx:
        before = await count_read(tx)
        await write_rounds(tx, [marking(small, (1, 1))], ttl_s=10.0, now=NOW)
        await write_rounds(tx, [marking(large, (1, 1), (2, 1))], ttl_s=10.0, now=NOW)
        await write_rounds(tx, [telling(large, *sent)], ttl_s=10.0, now=NOW)
        assert await count_read(tx) - before < 20


async def count_read(tx: Tx) -> int:
    """Return how many rows of messages and deliveries the connection has read, by whatever way."""
    rows = await tx.raw(
        "select sum(seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables"
        " where relname in ('part', 'delivery')"
    )
    return rows[0]["read"]


async def test_a_round_that_comes_just_when_the_last_writer_ends_is_written(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "AT_ONCE", 1)
    new = await make_run(database, deliveries=1)
    writer = rounds.RoundWriter(database, RealClock(), 10.0)
    for steps in range(40):
        await writer.write(new)
        for _ in range(steps):
            await asyncio.sleep(0)
        async with asyncio.timeout(10.0):
            assert (await writer.write(new)).held
