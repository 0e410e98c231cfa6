"""Runs as people see them."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from plans_bench import PlansBench

from headgate.domain.reminders.run_results import Tally
from headgate.outflow.reminders.drafts import DraftPart
from headgate.storage.sending import run_overview
from headgate.storage.sending.run_overview import ACTIVE_STATES, PartLine, RunCursor, RunLine

TWO_PARTS = (DraftPart("Dear {group}"), DraftPart("Goodbye"))


async def set_states(plans: PlansBench, run_id: UUID, **states: str) -> None:
    for key, state in states.items():
        await plans.rows(
            "update delivery set state = $3, latency_ms = 100 * number where run_id = $1 and target_key = $2",
            run_id,
            key,
            state,
        )


async def test_a_run_says_how_many_deliveries_are_in_which_state(plans: PlansBench) -> None:
    run_id = await plans.run_now(await plans.create("a", "b", "c", "d", parts=TWO_PARTS))
    await set_states(plans, run_id, a="sent", b="failed", c="sent")
    run = await plans.do(lambda tx: run_overview.get_run(tx, run_id))
    assert run is not None
    assert run.tally == Tally(pending=1, sent=2, failed=1)
    assert (run.total, run.state, run.trigger, run.account_name) == (4, "waiting", "person", "main")
    assert run.active
    assert await plans.do(lambda tx: run_overview.list_runs(tx, limit=10)) == [run]


async def test_messages_and_latencies_are_counted_for_one_run(plans: PlansBench) -> None:
    run_id = await plans.run_now(await plans.create("a", "b", "c", parts=TWO_PARTS))
    assert await plans.do(lambda tx: run_overview.get_figures(tx, run_id)) == run_overview.RunFigures(
        2, 6, 0, None, None
    )
    await set_states(plans, run_id, a="sent", b="sent", c="sent")
    await plans.rows("update part set state = 'sent' where delivery = 1 or number = 1")
    figures = await plans.do(lambda tx: run_overview.get_figures(tx, run_id))
    assert (figures.messages_sent, figures.median_ms, figures.p95_ms) == (4, 200.0, 290.0)


async def test_pages_of_runs_neither_repeat_nor_lose_any_of_one_moment(plans: PlansBench) -> None:
    reminder_id = await plans.create("a")
    made = [await plans.run_now(reminder_id) for _ in range(5)]
    seen: list[RunLine] = []
    place: RunCursor | None = None
    while page := await plans.do(lambda tx, below=place: run_overview.list_runs(tx, below=below, limit=2)):
        seen += page
        place = RunCursor(page[-1].created_at, page[-1].id)
    assert [run.id for run in seen] == sorted(made, reverse=True)


async def test_runs_are_chosen_by_reminder_account_and_state(plans: PlansBench) -> None:
    spare = await plans.account("spare")
    watering = await plans.create("a")
    weeding = await plans.create("a", account=spare, title="Weed")
    first, second = await plans.run_now(watering), await plans.run_now(watering)
    plans.clock.advance(1)
    third = await plans.run_now(weeding)
    await plans.rows("update run set state = 'success' where id = $1", first)

    async def chosen(**filters: object) -> list[UUID]:
        found = await plans.do(lambda tx: run_overview.list_runs(tx, limit=9, **filters))  # pyright: ignore[reportArgumentType]
        return [run.id for run in found]

    assert await chosen(reminder_id=watering) == [second, first]
    assert await chosen(account_id=spare.id) == [third]
    assert await chosen(states=ACTIVE_STATES) == [third, second]
    assert await chosen(states=["success"]) == [first]
    assert await plans.do(lambda tx: run_overview.list_active_runs(tx, watering)) == [second]


async def test_deliveries_are_paged_by_number_with_their_messages(plans: PlansBench) -> None:
    run_id = await plans.run_now(await plans.create("a", "b", "c", parts=TWO_PARTS))
    await set_states(plans, run_id, b="failed", c="failed")
    await plans.rows(
        "update part set state = 'sent', attempts = 1, sent_at = $1, message_key = 'm1'"
        " where delivery = 2 and number = 1",
        plans.now,
    )
    await plans.rows(
        "update part set state = 'failed', attempts = 3, error = 'no such group'"
        " where delivery = 2 and number = 2"
    )
    first, second = await plans.do(lambda tx: run_overview.list_deliveries(tx, run_id, limit=2))
    assert (first.number, first.target_key, first.state, len(first.parts)) == (1, "a", "pending", 2)
    assert second.parts == (
        PartLine(1, "sent", "", 1, plans.now, "m1"),
        PartLine(2, "failed", "no such group", 3, None, ""),
    )
    rest = await plans.do(lambda tx: run_overview.list_deliveries(tx, run_id, after=2, limit=2))
    assert [line.target_key for line in rest] == ["c"]
    failed = await plans.do(lambda tx: run_overview.list_deliveries(tx, run_id, state="failed", limit=9))
    assert [line.number for line in failed] == [2, 3]


async def test_runs_are_named_by_a_piece_of_their_id_or_by_the_title_of_their_reminder(
    plans: PlansBench,
) -> None:
    reminder_id = await plans.create("a")
    await plans.run_now(reminder_id)
    plans.clock.advance(timedelta(days=1).total_seconds())
    newest = await plans.run_now(reminder_id)
    other = await plans.run_now(await plans.create("a", title="Weed"))
    for piece in (str(newest), str(newest)[-12:], str(newest)[:20]):
        found = await plans.do(lambda tx, piece=piece: run_overview.find_runs(tx, piece))
        assert [run.id for run in found] == [newest]
    titled = await plans.do(lambda tx: run_overview.find_runs_by_title(tx, "water the PLANTS"))
    assert [run.id for run in titled] == [newest]
    await plans.rows("update reminder set title = 'Weed' where id = $1", reminder_id)
    titled = await plans.do(lambda tx: run_overview.find_runs_by_title(tx, "Weed"))
    assert {run.id for run in titled} == {newest, other}


async def test_a_run_that_is_ready_says_that_it_waits_for_a_slot_and_for_how_long(plans: PlansBench) -> None:
    run_id = await plans.run_now(await plans.create("lake"))
    await plans.rows("update run set state = 'running', reason = ''")

    async def reason() -> str:
        run = await plans.do(lambda tx: run_overview.get_run(tx, run_id))
        (listed,) = await plans.do(lambda tx: run_overview.list_runs(tx, limit=10))
        assert run is not None
        assert listed.reason == run.reason
        return run.reason

    assert await reason() == ""
    waited = "update pgqueuer set created = headgate_real_now() - interval '183 seconds', execute_after = $1"
    await plans.rows(waited, plans.now - timedelta(days=3650))
    assert await reason() == "waits for a free sending slot, for 3 min so far"
    await plans.rows("update pgqueuer set status = 'picked'")
    assert await reason() == ""
