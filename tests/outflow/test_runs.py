"""Runs: what a reminder holds becomes rows for the sender, each target once, who waited longest first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import pytest
from plans_bench import START, PlansBench, unknown

from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import daily
from headgate.domain.reminders.windows import Window
from headgate.jobs.execution import REST
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders import targets as outflow_targets
from headgate.outflow.reminders.drafts import DraftPart
from headgate.outflow.reminders.runs import UnderWay, make_run, make_test_run
from headgate.outflow.sending import controls
from headgate.outflow.sending.sender import SenderRows
from headgate.storage.database import Tx
from headgate.storage.queries import Query
from headgate.storage.reminders.targets import note_targets
from headgate.storage.sending.sending import end_run

T = TypeVar("T")


async def keys_of(plans: PlansBench, run_id: UUID) -> list[str]:
    return await plans.values("select target_key from delivery where run_id = $1 order by number", run_id)


async def jobs(plans: PlansBench) -> list[str]:
    return await plans.values("select dedupe_key from pgqueuer order by 1")


async def test_a_run_holds_all_deliveries_and_parts_before_anything_is_sent(plans: PlansBench) -> None:
    account = await plans.account()
    media_id = await plans.media()
    reminder_id = await plans.create(
        "lake", "hill", parts=(DraftPart("Dear {group}"), DraftPart("", media_id))
    )
    run_id = await plans.run_now(reminder_id)
    assert await plans.rows(
        "select account_name, trigger, title, total, state, reason, priority, opens_at, closes_at, due_at"
        " from run"
    ) == [
        {
            "account_name": "main",
            "trigger": "person",
            "title": "Water the plants",
            "total": 2,
            "state": "waiting",
            "reason": "waits for its turn",
            "priority": 0,
            "opens_at": datetime(2026, 3, 2, 6, tzinfo=UTC),
            "closes_at": datetime(2026, 3, 2, 18, tzinfo=UTC),
            "due_at": START,
        }
    ]
    assert await plans.rows("select number, text, media_id from run_part order by number") == [
        {"number": 1, "text": "Dear {group}", "media_id": None},
        {"number": 2, "text": "", "media_id": media_id},
    ]
    assert await plans.rows(
        "select d.target_key, p.number, p.state, p.account_id,"
        " p.key = headgate_part_key(p.run_id, p.delivery, p.number) as keyed"
        " from delivery d join part p on p.run_id = d.run_id and p.delivery = d.number order by 1, 2"
    ) == [
        {"target_key": key, "number": number, "state": "planned", "account_id": account.id, "keyed": True}
        for key in ("hill", "lake")
        for number in (1, 2)
    ]
    assert await keys_of(plans, run_id) == ["lake", "hill"]
    assert await jobs(plans) == [f"send:{account.id}"]


async def test_a_run_keeps_what_it_began_with_when_the_reminder_changes(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    run_id = await plans.run_now(reminder_id)
    draft = await plans.draft("hill", parts=(DraftPart("Something else"),))
    await plans.do(lambda tx: reminders.update(tx, reminder_id, draft, now=plans.now))
    assert await keys_of(plans, run_id) == ["lake"]
    assert await plans.values("select text from run_part") == ["Dear {group}"]


async def test_each_target_is_reached_once_and_lists_come_after_the_chosen_ones(plans: PlansBench) -> None:
    a, b, c, d = await plans.targets("a", "b", "c", "d")

    async def list_of(name: str, *members: UUID) -> UUID:
        return await plans.do(
            lambda tx: outflow_targets.create_list(tx, name, members, ids=plans.ids, now=plans.now)
        )

    lists = (await list_of("zebras", a, c), await list_of("Apes", d, b))
    run_id = await plans.run_now(await plans.create("b", lists=lists))
    assert await keys_of(plans, run_id) == ["b", "d", "a", "c"]


async def test_the_order_rotates_so_that_the_same_tail_is_not_left_out_every_day(plans: PlansBench) -> None:
    reminder_id = await plans.create("a", "b", "c", "d", "e")
    reached: list[list[str]] = []
    for _ in range(5):
        run_id = await plans.run_now(reminder_id)
        # Only two of the five are reached before the window closes.
        reached.append((await keys_of(plans, run_id))[:2])
        await plans.rows(
            "update delivery set state = case when number <= 2 then 'sent' else 'skipped' end,"
            " ended_at = $2::timestamptz + number * interval '1 second' where run_id = $1",
            run_id,
            plans.now,
        )
        async with plans.database.transaction() as tx:
            await end_run(tx, run_id, state="partial", summary="", now=plans.now)
        plans.clock.advance(3600)
    assert reached == [["a", "b"], ["c", "d"], ["e", "a"], ["b", "c"], ["d", "e"]]


async def test_a_run_before_the_window_opens_waits_and_says_until_when(plans: PlansBench) -> None:
    window = Window(600, 1080, "Asia/Kuala_Lumpur")
    reminder_id = await plans.create("lake", window=window, schedule=daily("12:00"))
    plans.to(datetime(2026, 3, 2, 20, tzinfo=UTC))
    await plans.run_now(reminder_id)
    opens_at = datetime(2026, 3, 3, 2, tzinfo=UTC)
    assert await plans.rows("select state, reason, opens_at, closes_at, due_at from run") == [
        {
            "state": "waiting",
            "reason": "waits for the window to open at 2026-03-03 10:00 (Asia/Kuala_Lumpur)",
            "opens_at": opens_at,
            "closes_at": opens_at + timedelta(hours=8),
            "due_at": opens_at,
        }
    ]
    assert await jobs(plans) == []


async def test_the_window_is_that_of_the_clock_and_not_of_the_day_of_the_fire(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    yesterday = START - timedelta(days=1)
    await plans.do(
        lambda tx: make_run(
            tx, reminder_id, trigger="person", fire_at=yesterday, now=plans.now, ids=plans.ids
        )
    )
    assert await plans.rows("select fire_at, closes_at, due_at, state from run") == [
        {
            "fire_at": yesterday,
            "closes_at": datetime(2026, 3, 2, 18, tzinfo=UTC),
            "due_at": START,
            "state": "waiting",
        }
    ]


async def test_a_target_that_the_account_does_not_see_still_gets_its_delivery(plans: PlansBench) -> None:
    account = await plans.account()
    reminder_id = await plans.create("lake")
    await plans.do(
        lambda tx: note_targets(tx, account.id, [], platform="simulated", ids=plans.ids, now=plans.now)
    )
    assert await keys_of(plans, await plans.run_now(reminder_id)) == ["lake"]


async def test_a_run_without_account_or_target_is_refused(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    await plans.rows("delete from reminder_target")
    with pytest.raises(UserError, match="has no targets"):
        await plans.run_now(reminder_id)
    await plans.rows("delete from account")
    with pytest.raises(UserError, match="has no account"):
        await plans.run_now(reminder_id)
    with pytest.raises(UserError, match="no such reminder"):
        await plans.run_now(unknown())


class CountingTx(Tx):
    """A transaction that counts its statements."""

    statements = 0

    async def execute(self, query: Query, /, **parameters: Any) -> int:
        self.statements += 1
        return await super().execute(query, **parameters)

    async def one(self, row: type[T], query: Query, /, **parameters: Any) -> T | None:
        self.statements += 1
        return await super().one(row, query, **parameters)

    async def value(self, query: Query, /, **parameters: Any) -> Any:
        self.statements += 1
        return await super().value(query, **parameters)


async def test_a_run_of_a_thousand_targets_takes_as_many_statements_as_one_of_ten(plans: PlansBench) -> None:
    async def statements(count: int) -> int:
        reminder_id = await plans.create(*(f"g{number}" for number in range(count)))
        async with plans.database.transaction() as tx:
            counting = CountingTx(tx.connection)
            now, ids = plans.now, plans.ids
            await make_run(counting, reminder_id, trigger="person", fire_at=now, now=now, ids=ids)
        return counting.statements

    assert await statements(1000) == await statements(10) < 10
    assert sorted(await plans.values("select total from run")) == [10, 1000]


async def test_a_test_send_goes_to_one_target_at_any_hour_and_before_others(plans: PlansBench) -> None:
    account = await plans.account()
    plans.to(datetime(2026, 3, 2, 22, tzinfo=UTC))
    draft = await plans.draft("lake", "hill")
    await plans.do(lambda tx: make_test_run(tx, draft, draft.targets[1], ids=plans.ids, now=plans.now))
    assert await plans.rows(
        "select reminder_id, trigger, priority, closes_at, due_at, total, account_name from run"
    ) == [
        {
            "reminder_id": None,
            "trigger": "test",
            "priority": 10,
            "closes_at": None,
            "due_at": plans.now,
            "total": 1,
            "account_name": "main",
        }
    ]
    assert await plans.values("select target_key from delivery") == ["hill"]
    assert await plans.values("select count(*) from part") == [1]
    assert await jobs(plans) == [f"send:{account.id}"]


async def test_a_kept_reminder_is_tested_with_the_messages_that_it_has(plans: PlansBench) -> None:
    (other,) = await plans.targets("elsewhere")
    reminder_id = await plans.create("lake")
    await plans.do(lambda tx: make_test_run(tx, reminder_id, other, ids=plans.ids, now=plans.now))
    assert await plans.values("select reminder_id from run") == [reminder_id]
    assert await plans.values("select text from run_part") == ["Dear {group}"]
    with pytest.raises(UserError, match="no such target on simulated"):
        await plans.do(lambda tx: make_test_run(tx, reminder_id, unknown(), ids=plans.ids, now=plans.now))
    assert await plans.values("select count(*) from run") == [1]


async def test_a_test_send_of_a_file_that_is_gone_is_refused(plans: PlansBench) -> None:
    draft = await plans.draft("lake", parts=(DraftPart("", unknown()),))
    with pytest.raises(UserError, match="files no longer exists"):
        await plans.do(lambda tx: make_test_run(tx, draft, draft.targets[0], ids=plans.ids, now=plans.now))
    assert await plans.values("select count(*) from run") == [0]


async def test_a_second_run_begins_only_if_a_person_says_so(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake", "hill")
    first_id = await plans.run_now(reminder_id)
    await plans.rows("update delivery set state = 'sent' where number = 1")
    now, ids = plans.now, plans.ids

    async def again(*, beside: bool = False) -> UUID:
        return await plans.do(
            lambda tx: make_run(
                tx, reminder_id, trigger="person", fire_at=now, now=now, ids=ids, beside=beside
            )
        )

    with pytest.raises(UnderWay, match="A run of 'Water the plants' is under way: 1 of 2 delivered"):
        await again()
    assert await again(beside=True) != first_id
    await plans.rows("update run set state = 'success'")
    await again()
    assert await plans.values("select count(*) from run") == [3]


async def test_a_run_whose_job_gave_up_says_so_and_is_picked_up_again(plans: PlansBench) -> None:
    account = await plans.account()
    await plans.run_now(await plans.create("lake", account=account))
    await plans.rows("delete from pgqueuer")
    rows, later = SenderRows(), plans.now + REST
    await plans.do(lambda tx: rows.postpone(tx, account.id, until=later, now=plans.now))
    assert await plans.rows("select state, due_at, reason from run") == [
        {
            "state": "waiting",
            "due_at": later,
            "reason": "stopped by an error, tried again later; see the failed jobs",
        }
    ]
    assert await plans.do(lambda tx: rows.list_due(tx, now=plans.now, limit=10)) == []
    assert await plans.do(lambda tx: rows.list_due(tx, now=later, limit=10)) == [str(account.id)]


@pytest.mark.parametrize("late_s", [-60, 1])
async def test_a_resumed_run_keeps_its_window(plans: PlansBench, late_s: int) -> None:
    await plans.account()
    run_id = await plans.run_now(await plans.create("lake"))
    await plans.do(lambda tx: controls.pause(tx, run_id))
    closes_at = datetime(2026, 3, 2, 18, tzinfo=UTC)
    resumed_at = closes_at + timedelta(seconds=late_s)
    await plans.do(lambda tx: controls.resume(tx, run_id, now=resumed_at))
    # One that closed meanwhile is due: the sender closes it, and does not wait for the next one.
    assert await plans.rows("select state, closes_at, due_at, reason from run") == [
        {"state": "waiting", "closes_at": closes_at, "due_at": resumed_at, "reason": "waits for its turn"}
    ]
