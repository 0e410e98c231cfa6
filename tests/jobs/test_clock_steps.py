"""A clock that is set back: nothing waits for the whole step, and no lease is taken that is still held."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from lab import Lab

from headgate.jobs.kinds import Kinds, Wake
from headgate.jobs.tick import Tick
from headgate.kernel.clock import RealClock, VirtualClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Database
from headgate.storage.jobs.clock_repair import Q, repair_clock_rewind
from headgate.storage.jobs.leases import Lease, take_lease

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
TTL_S = 6.0

NOT_WAITED_FOR = {
    # Times of day that a person set come when they come.
    ("reminder", "due_at"),
    ("reminder", "fired_until"),
    # Notes of what was.
    ("lane_change", "cool_until"),
    ("sender", "saturated_until"),
}
PLANNED = re.compile(r"due_at|.*_until|next_try_at|retry_at|expires_at|planned_at|discover_at")
ELSEWHERE = {"user_session", "setup_link", "api_token", "login_attempt", "upload"}
"""How long people and platforms let something be valid: later by the step harms nothing."""


async def rows(database: Database, sql: str, *arguments: Any) -> list[dict[str, Any]]:
    async with database.transaction() as tx:
        return await tx.raw(sql, arguments)


async def set_real_time_back(database: Database, by: timedelta) -> None:
    seconds = by.total_seconds()
    await rows(
        database,
        "create or replace function headgate_real_now() returns timestamptz language sql volatile"
        f" parallel safe return clock_timestamp() - make_interval(secs => {seconds})",
    )


async def repair(database: Database, now: datetime = NOW) -> None:
    async with database.transaction() as tx:
        await repair_clock_rewind(tx, now=now)


async def take(database: Database, holder: str) -> Lease | None:
    return await take_lease(database, RealClock(), name="tick", holder=holder, token=uuid4(), ttl_s=TTL_S)


async def test_a_lease_from_before_a_step_ends_within_its_own_time(database: Database) -> None:
    assert await take(database, "dead")
    await set_real_time_back(database, DAY)
    assert await take(database, "new") is None, "its holder may still rely on it"
    (lease,) = await rows(
        database, "select extract(epoch from expires_at - headgate_real_now()) as left_s from lease"
    )
    assert lease["left_s"] <= TTL_S
    await set_real_time_back(database, DAY - timedelta(seconds=TTL_S))
    assert await take(database, "new") is not None


async def test_a_lease_within_its_own_time_is_left_alone(database: Database) -> None:
    assert await take(database, "first")
    before = await rows(database, "select token, expires_at from lease")
    assert await take(database, "second") is None
    assert await rows(database, "select token, expires_at from lease") == before


async def test_jobs_are_due_as_soon_as_they_were_before_the_step(lab: Lab) -> None:
    await repair(lab.database)
    await lab.enqueue(Wake("check", "now"), Wake("check", "later"))
    await rows(
        lab.database,
        "update pgqueuer set execute_after = now() + interval '1 hour' where dedupe_key = 'check:later'",
    )
    await set_real_time_back(lab.database, 8 * timedelta(hours=1))
    await repair(lab.database)
    waits = await rows(
        lab.database,
        "select dedupe_key, round(extract(epoch from execute_after - headgate_real_now()) / 60) as minutes"
        " from pgqueuer order by id",
    )
    assert [(wait["dedupe_key"], wait["minutes"]) for wait in waits] == [
        ("check:now", 0),
        ("check:later", 60),
    ]


async def test_a_dead_workers_job_is_taken_over_in_spite_of_a_step(lab: Lab) -> None:
    await repair(lab.database)
    await lab.enqueue(Wake("check", "a"))
    await lab.pick("check", "a")
    await set_real_time_back(lab.database, DAY)
    await repair(lab.database)
    (job,) = await rows(
        lab.database, "select heartbeat < headgate_real_now() + interval '10 s' as past from pgqueuer"
    )
    assert job["past"]


async def test_cool_downs_and_paces_do_not_last_for_the_step(database: Database) -> None:
    await repair(database)
    await rows(
        database,
        "insert into lane (owner, kind, ceiling, burst, established, rate, rate_at, rate_cause, tat,"
        " cool_until, use_slot)"
        " select 'a', 'send', 40, 3, true, 40, n.at, 'created', n.at + interval '2 s',"
        " n.at + interval '90 s', lane_slot(n.at) from (select headgate_real_now() as at) as n",
    )
    await set_real_time_back(database, DAY)
    await repair(database)
    (lane,) = await rows(
        database,
        "select extract(epoch from cool_until - headgate_real_now()) as cool_s,"
        " extract(epoch from tat - headgate_real_now()) as tat_s from lane",
    )
    assert 60 < lane["cool_s"] <= 90
    assert lane["tat_s"] <= 2


async def test_the_tick_notices_a_step_and_recurring_work_goes_on(lab: Lab) -> None:
    clock = VirtualClock(NOW)
    lab.clock = clock
    await rows(
        lab.database,
        "insert into cron (kind, key, schedule, due_at) values ('retention', 'all', '*/5 * * * *', $1)",
        NOW + timedelta(minutes=5),
    )
    tick = Tick(Kinds(), lab.database, clock, Ids(clock, Randomness(1)))
    await tick.tick(NOW)
    clock.advance(60)
    await tick.tick(NOW - 8 * timedelta(hours=1))
    (cron,) = await rows(lab.database, "select due_at from cron")
    assert cron["due_at"] == NOW - 8 * timedelta(hours=1) + timedelta(minutes=5)


@pytest.mark.parametrize("step", [-DAY, timedelta(0), timedelta(seconds=30)])
async def test_a_clock_that_goes_on_or_differs_a_little_moves_nothing(lab: Lab, step: timedelta) -> None:
    await repair(lab.database)
    due_at = NOW + timedelta(minutes=5)
    await rows(
        lab.database,
        "insert into cron (kind, key, schedule, due_at) values ('a', 'b', '* * * * *', $1)",
        due_at,
    )
    await repair(lab.database, NOW - step)
    assert await rows(lab.database, "select due_at from cron") == [{"due_at": due_at}]


def test_every_stored_time_that_is_waited_for_is_moved(database_url: str) -> None:
    """Whoever adds such a column adds it to the repair."""
    statements = (Q["move_product_times"].sql, Q["move_real_times"].sql)
    moved = {
        (table, column)
        for sql in statements
        for table, body in re.findall(r"update (\w+)(?: \w+)? set (.*?)(?=\n\)|\Z)", sql, re.DOTALL)
        for column in re.findall(r"(\w+) = ", body)
    }
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "select table_name, column_name from information_schema.columns"
            " where table_schema = 'public' and data_type = 'timestamp with time zone'"
        ).fetchall()
    waited = {
        (table, column) for table, column in found if PLANNED.fullmatch(column) and table not in ELSEWHERE
    }
    assert waited - NOT_WAITED_FOR - moved == set()
