"""Firing: each fire gets one run, also after downtime and when a process dies at the worst moment."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from plans_bench import START, PlansBench

from headgate.domain.reminders.recurrence import Schedule, daily
from headgate.domain.reminders.windows import Window
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.fire import Firing
from headgate.outflow.sending.endings import FIRED
from headgate.storage.database import Tx, connect

NINE = START + timedelta(hours=1)


async def fire(plans: PlansBench, reminder_id: UUID) -> None:
    firing = Firing(plans.clock, plans.ids)
    await plans.do(lambda tx: firing.fire_reminder(tx, reminder_id))


async def test_a_reminder_fires_at_its_time_and_waits_for_the_next(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    plans.to(NINE - timedelta(seconds=1))
    assert await plans.work() == 0
    plans.to(NINE)
    assert await plans.work() == 1
    assert await plans.rows("select reminder_id, trigger, fire_at, state, total from run") == [
        {"reminder_id": reminder_id, "trigger": "schedule", "fire_at": NINE, "state": "waiting", "total": 1}
    ]
    reminder = await plans.reminder(reminder_id)
    assert (reminder.fired_until, reminder.due_at) == (NINE, NINE + timedelta(days=1))
    assert await plans.work() == 0


async def test_a_fire_is_one_run_however_often_it_is_tried(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    plans.to(NINE)
    for _ in range(3):
        await fire(plans, reminder_id)
    # As if how far it came had been lost.
    await plans.rows("update reminder set fired_until = $1, due_at = $2", START, NINE)
    await plans.work()
    assert await plans.values("select count(*) from run union all select count(*) from delivery") == [1, 1]


async def test_two_processes_that_fire_at_the_same_moment_make_one_run(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    plans.to(NINE)
    await asyncio.gather(*(fire(plans, reminder_id) for _ in range(4)))
    assert await plans.values("select count(*) from run") == [1]


class ProcessGone(BaseException):
    """The process ends here."""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("statement", range(1, 12))
async def test_a_process_that_dies_at_any_statement_of_a_fire_leaves_all_or_nothing(
    plans: PlansBench, statement: int
) -> None:
    reminder_id = await plans.create("lake", "hill")
    plans.to(NINE)
    firing = Firing(plans.clock, plans.ids)

    async def die_at(tx: Tx) -> None:
        """Carry out so many statements and no more."""
        left = statement
        pieces = {name: getattr(tx, name) for name in ("execute", "one", "value", "all")}

        def dying(name: str):
            async def call(*arguments: object, **options: object) -> object:
                nonlocal left
                left -= 1
                if left < 0:
                    raise ProcessGone
                return await pieces[name](*arguments, **options)

            return call

        for name in pieces:
            setattr(tx, name, dying(name))
        await firing.fire_reminder(tx, reminder_id)
        raise ProcessGone

    with pytest.raises(ProcessGone):
        await plans.do(die_at)
    assert await plans.values("select count(*) from run union all select count(*) from pgqueuer") == [0, 0]
    await plans.work()
    assert await plans.values("select total from run") == [2]
    assert await plans.values("select count(*) from part") == [2]


async def test_after_downtime_inside_the_window_the_last_fire_is_sent_once(plans: PlansBench) -> None:
    await plans.create("lake")
    plans.to(NINE + timedelta(days=3, hours=8, minutes=59))
    await plans.work()
    assert await plans.rows("select fire_at, state, due_at, closes_at from run") == [
        {
            "fire_at": NINE + timedelta(days=3),
            "state": "waiting",
            "due_at": plans.now,
            "closes_at": NINE + timedelta(days=3, hours=9),
        }
    ]


async def test_after_downtime_past_the_close_the_fires_are_recorded_as_missed(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake", window=Window(zone="Asia/Kuala_Lumpur"))
    plans.to(datetime(2026, 3, 5, 10, tzinfo=UTC))
    await plans.work()
    assert await plans.rows("select fire_at, state, summary, due_at, ended_at, total from run") == [
        {
            "fire_at": datetime(2026, 3, 5, 1, tzinfo=UTC),
            "state": "missed",
            "summary": "3 sends from 2026-03-03 09:00 to 2026-03-05 09:00 (Asia/Kuala_Lumpur) were missed:"
            " Headgate was not running at the time, and the delivery window closed at 18:00.",
            "due_at": None,
            "ended_at": plans.now,
            "total": 0,
        }
    ]
    assert (await plans.reminder(reminder_id)).due_at == datetime(2026, 3, 6, 1, tzinfo=UTC)
    assert await plans.values("select count(*) from pgqueuer where entrypoint = 'send'") == [0]


async def test_one_missed_fire_is_told_as_one(plans: PlansBench) -> None:
    await plans.create("lake")
    plans.to(NINE + timedelta(hours=9))
    await plans.work()
    (summary,) = await plans.values("select summary from run")
    assert summary.startswith("The send of 2026-03-02 09:00 (UTC) was missed: Headgate was not running")


async def test_a_window_over_midnight_is_still_open_the_next_morning(plans: PlansBench) -> None:
    await plans.create("lake", schedule=daily("23:00"), window=Window(22 * 60, 6 * 60))
    plans.to(datetime(2026, 3, 3, 5, 59, tzinfo=UTC))
    await plans.work()
    plans.to(datetime(2026, 3, 4, 6, tzinfo=UTC))
    await plans.work()
    assert await plans.values("select state from run order by fire_at") == ["waiting", "missed"]


async def test_a_removed_account_or_empty_target_list_is_recorded_as_missed_with_the_reason(
    plans: PlansBench,
) -> None:
    reminder_id = await plans.create("lake")
    await plans.rows("delete from reminder_target")
    plans.to(NINE)
    await plans.work()
    await plans.rows("delete from account")
    plans.to(NINE + timedelta(days=1))
    await plans.work()
    assert await plans.rows("select state, summary, account_id from run order by fire_at") == [
        {
            "state": "missed",
            "summary": "The send of 2026-03-02 09:00 (UTC) was missed: there was nobody to send to.",
            "account_id": None,
        },
        {
            "state": "missed",
            "summary": "The send of 2026-03-03 09:00 (UTC) was missed: the account that sent this reminder"
            " was removed.",
            "account_id": None,
        },
    ]
    assert (await plans.reminder(reminder_id)).state == "active"


async def test_a_missed_fire_is_announced_like_every_other_result(plans: PlansBench) -> None:
    await plans.create("lake")
    plans.to(NINE + timedelta(hours=9))
    connection = await connect(plans.database.url)
    try:
        await connection.execute("listen headgate_event")
        await plans.work()
        told = [notice.payload async for notice in connection.notifies(timeout=0.1)]
    finally:
        await connection.close()
    events = [json.loads(payload) for payload in told]
    (fired,) = [event for event in events if event["kind"] == FIRED]
    assert fired["details"]["status"] == "missed"
    assert fired["details"]["text"].startswith("Water the plants: missed")


@pytest.mark.parametrize("state", ["waiting", "running", "paused"])
async def test_a_fire_joins_a_run_that_is_still_under_way(plans: PlansBench, state: str) -> None:
    await plans.create("lake", at_close="carry")
    plans.to(NINE)
    await plans.work()
    await plans.rows("update run set state = $1", state)
    for day in (1, 2):
        plans.to(NINE + timedelta(days=day))
        await plans.work()
    assert await plans.rows("select state, joined from run") == [{"state": state, "joined": 2}]
    await plans.rows("update run set state = 'success', ended_at = $1, due_at = null", plans.now)
    plans.to(NINE + timedelta(days=3))
    await plans.work()
    assert await plans.values("select joined from run order by created_at") == [2, 0]


async def test_tests_and_remainders_of_a_reminder_do_not_swallow_its_fires(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    await plans.run_now(reminder_id)
    await plans.rows("update run set trigger = 'remainder'")
    plans.to(NINE)
    await plans.work()
    assert await plans.values("select trigger from run order by created_at") == ["remainder", "schedule"]


async def test_what_fires_once_is_over_then(plans: PlansBench) -> None:
    schedule = Schedule(datetime.fromisoformat("2026-03-02 09:00"))
    reminder_id = await plans.create("lake", schedule=schedule)
    plans.to(NINE)
    await plans.work()
    assert (await plans.reminder(reminder_id)).due_at is None


async def test_a_clock_that_is_set_back_fires_nothing_again(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    ahead = NINE + timedelta(hours=2)
    plans.to(NINE)
    await plans.work()
    await plans.rows("update reminder set fired_until = $1, due_at = $2", ahead, plans.now)
    await plans.work()
    reminder = await plans.reminder(reminder_id)
    assert (reminder.fired_until, reminder.due_at) == (ahead, NINE + timedelta(days=1))
    assert await plans.values("select count(*) from run") == [1]


async def test_a_fire_that_gave_up_is_due_again_later_or_when_it_is_replayed(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    rows = Firing(plans.clock, plans.ids).kind().rows
    assert rows is not None
    plans.to(NINE)
    later = NINE + timedelta(minutes=30)
    await plans.do(lambda tx: rows.postpone(tx, reminder_id, until=later, now=plans.now))
    assert await plans.work() == 0
    assert (await plans.reminder(reminder_id)).due_at == later
    await plans.do(lambda tx: rows.reopen(tx, reminder_id, now=plans.now))
    assert await plans.work() == 1
    assert await plans.values("select fire_at from run") == [NINE]


async def test_a_reminder_that_is_paused_before_its_job_runs_stays_silent(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    plans.to(NINE)
    await plans.do(lambda tx: reminders.pause(tx, reminder_id, now=plans.now))
    await fire(plans, reminder_id)
    assert await plans.values("select count(*) from run") == [0]
