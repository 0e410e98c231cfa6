"""What the sender writes in one statement: results, marks and leases of several accounts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from headgate.kernel.clock import RealClock
from headgate.outflow.sending import rounds
from headgate.storage.database import Database, Tx
from headgate.storage.jobs.leases import take_lease
from headgate.storage.sending.sending import (
    Mark,
    NewRound,
    Result,
    Round,
    fail_delivery,
    list_doubtful,
    settle_part,
    write_rounds,
)

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
_MAKE_TEXTS = "insert into run_part (run_id, number, text) values ($1, 1, 'Dear group')"
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


def marking(new: NewRound, *places: tuple[int, int], seen: UUID | None = None) -> NewRound:
    return NewRound(new.run_id, new.lease, new.token, (), [Mark(*place, seen) for place in places])


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
    mixed = NewRound(first.run_id, first.lease, first.token, (sent,), (Mark(2, 1),))
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


async def test_nobody_takes_the_lease_while_marks_are_made_under_it(database: Database) -> None:
    run = await make_run(database, deliveries=2)
    await write(database, marking(run, (1, 1)))
    both = NewRound(run.run_id, run.lease, run.token, (Result(1, 1, "sent", 1),), (Mark(2, 1),))
    other = take_lease(database, RealClock(), name=run.lease, holder="other", token=uuid4(), ttl_s=10.0)
    async with database.transaction() as blocker:
        await blocker.raw("select from part where run_id = $1 and delivery = 1 for update", (run.run_id,))
        writing = asyncio.create_task(write(database, both))
        await until_blocked(database, "headgate_write_rounds")
        taking = asyncio.create_task(other)
        await until_blocked(database, "insert into lease")
    (written,) = await writing
    assert written.marked == {(2, 1)}
    assert await taking is None
    assert await states(database, run.run_id) == [("sending", "sent"), ("sending", "sending")]


async def until_blocked(database: Database, statement: str) -> None:
    """Wait until a statement waits for a lock."""
    sql = (
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and wait_event_type = 'Lock' and query ilike '%' || $1::text || '%'"
    )
    async with asyncio.timeout(10.0):
        waiting = 0
        while not waiting:
            async with database.transaction() as tx:
                waiting = (await tx.raw(sql, (statement,)))[0]["count"]


async def test_a_message_that_another_sender_has_marked_since_is_not_marked(database: Database) -> None:
    run = await make_run(database, deliveries=2)
    await write(database, marking(run, (1, 1)))
    unseen, seen = marking(run, (1, 1), (2, 1)), marking(run, (1, 1), seen=run.token)
    assert [one.marked for one in await write(database, unseen)] == [{(2, 1)}]
    assert [one.marked for one in await write(database, seen)] == [{(1, 1)}]


async def test_a_doubt_counts_from_the_first_try_and_ends_with_a_definite_answer(database: Database) -> None:
    run = await make_run(database, deliveries=1)
    await write(database, marking(run, (1, 1)))
    (first,) = await doubts(database)
    await write(database, telling(run, Result(1, 1, "sending", 1)))
    await write(database, marking(run, (1, 1)))
    (second,) = await doubts(database)
    assert second["sending_at"] > first["sending_at"]
    assert second["doubtful_since"] == first["doubtful_since"] == first["sending_at"]
    await write(database, telling(run, Result(1, 1, "planned", 1)))
    assert [row["doubtful_since"] for row in await doubts(database)] == [None]


async def test_what_was_found_out_about_an_older_try_does_not_settle_a_newer_one(database: Database) -> None:
    run = await make_run(database, deliveries=1)
    await write(database, marking(run, (1, 1)))
    async with database.transaction() as tx:
        await tx.raw(_MAKE_TEXTS, (run.run_id,))
        (share,) = await list_doubtful(tx, run.run_id, settle_s=0.0, now=NOW)
    uncertain = Result(1, 1, "uncertain", 1, delivery_state="uncertain")
    await write(database, marking(run, (1, 1), seen=run.token))
    async with database.transaction() as tx:
        await settle_part(tx, run.run_id, share, uncertain, now=NOW)
    assert await states(database, run.run_id) == [("sending", "sending")]
    async with database.transaction() as tx:
        (share,) = await list_doubtful(tx, run.run_id, settle_s=0.0, now=NOW)
        await settle_part(tx, run.run_id, share, uncertain, now=NOW)
    assert await states(database, run.run_id) == [("uncertain", "uncertain")]


async def test_a_delivery_with_a_message_in_doubt_is_not_failed(database: Database) -> None:
    run = await make_run(database, deliveries=2)
    await write(database, marking(run, (1, 1)))
    async with database.transaction() as tx:
        for delivery in (1, 2):
            await fail_delivery(tx, run.run_id, delivery, error="no such group", now=NOW)
    assert await states(database, run.run_id) == [("sending", "sending"), ("failed", "planned")]


async def doubts(database: Database) -> list[dict[str, Any]]:
    async with database.transaction() as tx:
        return await tx.raw("select sending_at, doubtful_since from part")
