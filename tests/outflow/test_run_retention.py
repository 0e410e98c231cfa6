"""How long runs are kept, and what is kept for longer."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from plans_bench import PlansBench

from headgate.storage.sending import run_controls

KEPT = timedelta(days=180)


async def prune(plans: PlansBench) -> int:
    return await plans.do(lambda tx: run_controls.delete_old_runs(tx, before=plans.now - KEPT))


async def make_runs(plans: PlansBench, count: int) -> list[UUID]:
    """Make runs of one reminder that ended long ago, but for the last one; the oldest comes first."""
    reminder_id = await plans.create("lake", "hill")
    made: list[UUID] = []
    for _ in range(count + 1):
        made.append(await plans.run_now(reminder_id))
        plans.clock.advance(60)
    await plans.rows("update run set state = 'success', ended_at = $1, due_at = null", plans.now)
    await plans.rows("update delivery set state = 'sent'")
    plans.clock.advance(KEPT.total_seconds() + 1)
    return made


async def test_runs_that_ended_long_ago_go_with_their_messages_but_for_the_newest(plans: PlansBench) -> None:
    *_, newest = await make_runs(plans, 2)
    assert await prune(plans) == 2
    assert await plans.values("select id from run") == [newest]
    assert await plans.values("select count(*) from delivery union all select count(*) from part") == [2, 2]


@pytest.mark.parametrize(
    "unfinished",
    [
        "update run set state = 'paused', ended_at = null where id = $1",
        "update run set state = 'waiting', ended_at = null where id = $1",
        "update run set state = 'cancelled', due_at = ended_at where id = $1",
        "update delivery set state = 'uncertain' where number = 1 and run_id = $1",
        "update delivery set state = 'sending' where number = 1 and run_id = $1",
        "update run set remainder_of = $1, ended_at = null where id <> $1",
        "update run set ended_at = ended_at + interval '1 hour' where id = $1",
    ],
)
async def test_nothing_that_is_open_uncertain_or_recent_is_pruned(plans: PlansBench, unfinished: str) -> None:
    old, _ = await make_runs(plans, 1)
    await plans.rows(unfinished, old)
    assert await prune(plans) == 0


async def test_a_pass_deletes_a_bounded_number_but_one_run_at_least(
    plans: PlansBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest, *later = await make_runs(plans, 4)
    monkeypatch.setattr(run_controls, "MAX_DELIVERIES", 1)
    assert await prune(plans) == 1
    assert await plans.values("select count(*) from run where id = $1", oldest) == [0]
    monkeypatch.setattr(run_controls, "MAX_DELIVERIES", 4)
    assert await prune(plans) == 2
    monkeypatch.setattr(run_controls, "MAX_RUNS", 1)
    assert await prune(plans) == 1
    assert await plans.values("select id from run") == [later[-1]]
