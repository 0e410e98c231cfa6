"""How long ended work is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from lab import Lab

from headgate.jobs.cron import ONLY_KEY, install_schedules
from headgate.jobs.kinds import Kinds, Wake
from headgate.jobs.retention import retention_kind
from headgate.kernel.clock import RealClock, VirtualClock
from headgate.kernel.settings import JobsSettings
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "retention",
    """
-- name: insert_ended
insert into pgqueuer_log (created, job_id, status, entrypoint, priority)
select now() - make_interval(secs => %(age_s)s), 100000 + n, 'successful', 'past', 0
from generate_series(%(first)s::int, %(last)s::int) as n

-- name: list_ended
select job_id - 100000 from pgqueuer_log where entrypoint = 'past' order by job_id

-- name: insert_letters
insert into dead_letter (id, kind, key, error_class, message, stack, attempts, crashes, first_tried_at,
                         died_at, kept)
select gen_random_uuid(), 'past', n::text, 'Transient', '', '', 3, 0, at, at, %(kept)s
from (select n, %(newest_at)s::timestamptz - n * interval '1 second' as at
      from generate_series(%(first)s::int, %(last)s::int) as n) as letters

-- name: insert_lane
insert into lane (owner, kind, ceiling, burst, established, rate, rate_at, rate_cause, tat, cool_until,
                  use_slot)
values ('account:a', 'read', 10, 2, true, 10, now(), 'created', now(), now(), 0)

-- name: insert_lane_change
insert into lane_change (owner, kind, at, from_rate, to_rate, cause)
values ('account:a', 'read', now() - make_interval(days => %(age_days)s), 10, %(age_days)s, 'adjusted')

-- name: list_lane_change_ages
select to_rate::int from lane_change order by 1

-- name: insert_stream
with added as (
    insert into channel (id, platform, key, kind, title, created_at)
    values (gen_random_uuid(), 'simulated', %(key)s, 'stream', '', now()) returning id
)
insert into stream (channel_id) select id from added

-- name: insert_scans
insert into scan (id, channel_id, trigger, reason, status, queued_at, ended_at)
select gen_random_uuid(), c.id, 'schedule', n::text, 'SUCCEEDED', at, at
from channel c, generate_series(1, %(scans)s::int) as n,
     lateral (select %(newest_at)s::timestamptz - n * interval '1 day' as at) as times
where c.key = %(key)s

-- name: list_scan_ages
select n.reason::int from scan n join channel c on c.id = n.channel_id where c.key = 'busy' order by 1

-- name: count_quiet_scans
select count(*)::int from scan n join channel c on c.id = n.channel_id where c.key = 'quiet'

-- name: insert_attempt
insert into login_attempt (key, failures, tried_at, blocked_until)
select key, 1, tried_at, tried_at
from (select %(age_h)s::text as key, now() - make_interval(hours => %(age_h)s::int) as tried_at) as attempt

-- name: list_attempts
select key::int from login_attempt order by 1

-- name: list_letters
select key::int from dead_letter order by key::int

-- name: list_statuses
select status::text from pgqueuer_log where entrypoint = 'alive' order by id
""",
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock(lab: Lab) -> VirtualClock:
    lab.clock = VirtualClock(NOW)
    return lab.clock


async def put(lab: Lab, statement: str, **parameters: object) -> None:
    async with lab.database.transaction() as tx:
        await tx.execute(Q[statement], **parameters)


async def column(lab: Lab, statement: str) -> list[object]:
    async with lab.database.transaction() as tx:
        return await tx.column(Q[statement])


async def prune(lab: Lab) -> None:
    kind = retention_kind(JobsSettings(), lab.clock, Kinds(), real_clock=RealClock())
    await install_schedules(lab.database, [kind], now=lab.clock.now())
    await lab.enqueue(Wake(kind.name, ONLY_KEY, priority=100))
    await lab.execution(kind).run(await lab.pick(kind.name, ONLY_KEY))


@pytest.mark.once
def test_the_limits_are_the_promised_ones() -> None:
    settings = JobsSettings()
    assert (settings.keep_completed, settings.keep_completed_s) == (1_000, 3_600)
    assert (settings.keep_dead, settings.keep_dead_s) == (5_000, 7 * 86_400)


async def test_the_newest_thousand_completed_jobs_are_kept(lab: Lab, clock: VirtualClock) -> None:
    await put(lab, "insert_ended", first=1, last=1_200, age_s=60)
    await prune(lab)
    assert await column(lab, "list_ended") == list(range(201, 1_201))


async def test_completed_jobs_are_kept_for_an_hour(lab: Lab, clock: VirtualClock) -> None:
    await put(lab, "insert_ended", first=1, last=5, age_s=3_700)
    await put(lab, "insert_ended", first=6, last=9, age_s=3_500)
    await prune(lab)
    assert await column(lab, "list_ended") == [6, 7, 8, 9]


async def test_lines_of_a_job_that_is_still_there_stay(lab: Lab, clock: VirtualClock) -> None:
    await lab.enqueue(Wake("alive", "a"))
    await put(lab, "insert_ended", first=1, last=1_100, age_s=60)
    await prune(lab)
    assert await column(lab, "list_statuses") == ["queued"]


async def test_the_newest_five_thousand_dead_letters_are_kept(lab: Lab, clock: VirtualClock) -> None:
    await put(lab, "insert_letters", first=1, last=5_100, newest_at=NOW, kept=False)
    await prune(lab)
    assert await column(lab, "list_letters") == list(range(1, 5_001))


async def test_dead_letters_are_kept_for_seven_days_of_product_time(lab: Lab, clock: VirtualClock) -> None:
    await put(lab, "insert_letters", first=1, last=3, newest_at=NOW, kept=False)
    clock.advance(timedelta(days=6, hours=23).total_seconds())
    await prune(lab)
    assert await column(lab, "list_letters") == [1, 2, 3]
    clock.advance(timedelta(hours=1).total_seconds())
    await prune(lab)
    assert await column(lab, "list_letters") == []


async def test_kept_letters_stay_and_take_nobodys_place(lab: Lab, clock: VirtualClock) -> None:
    await put(lab, "insert_letters", first=1, last=10, newest_at=NOW - timedelta(days=30), kept=True)
    await put(lab, "insert_letters", first=11, last=5_020, newest_at=NOW, kept=False)
    await prune(lab)
    assert await column(lab, "list_letters") == list(range(1, 5_011))


async def test_changes_of_lanes_are_kept_for_thirty_days(lab: Lab, clock: VirtualClock) -> None:
    await put(lab, "insert_lane")
    for age_days in (1, 29, 31):
        await put(lab, "insert_lane_change", age_days=age_days)
    await prune(lab)
    assert await column(lab, "list_lane_change_ages") == [1, 29]


async def test_attempts_to_sign_in_are_forgotten_after_a_day_of_real_time(
    lab: Lab, clock: VirtualClock
) -> None:
    for age_h in (1, 23, 25):
        await put(lab, "insert_attempt", age_h=age_h)
    await prune(lab)
    assert await column(lab, "list_attempts") == [1, 23]


async def test_scans_are_kept_for_a_month_and_the_newest_for_good(lab: Lab, clock: VirtualClock) -> None:
    for key, newest_at in (("busy", NOW), ("quiet", NOW - timedelta(days=400))):
        await put(lab, "insert_stream", key=key)
        await put(lab, "insert_scans", key=key, scans=40, newest_at=newest_at)
    await prune(lab)
    assert await column(lab, "list_scan_ages") == list(range(1, 31))
    assert await column(lab, "count_quiet_scans") == [20]
