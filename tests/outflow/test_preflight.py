"""What will become of a plan or a run, from the real state of lanes and queues."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from plans_bench import PlansBench, unknown

from headgate.domain.errors import Elsewhere, UserError
from headgate.domain.pacing import LanePlan, Pace, grant_permits
from headgate.domain.reminders.windows import Window
from headgate.kernel.clock import RealClock
from headgate.lanes.links import AccountRef
from headgate.outflow.reminders.drafts import DraftPart
from headgate.outflow.reminders.preflight import Outlook, Preflight
from headgate.outflow.sending import controls
from headgate.storage.lanes import lanes
from headgate.storage.reminders import preflight
from headgate.storage.sending.run_overview import get_run

KEYS = [f"g{number:03}" for number in range(60)]
TWO_PARTS = (DraftPart("Dear {group}"), DraftPart("Goodbye"))


def slow_lanes(platform: str) -> list[LanePlan]:
    assert platform == "simulated"
    return [LanePlan("send", Pace(2.0, 2), "budget:all"), LanePlan("budget:all", Pace(1000.0, 100))]


def ahead(plans: PlansBench) -> Preflight:
    return Preflight(slow_lanes, plans.clock, slots=32)


async def set_pace(plans: PlansBench, account: AccountRef, pace: Pace) -> None:
    """Give the lane of sends a pace, as if it always had had it."""
    owner = str(account.id)
    await plans.do(
        lambda tx: lanes.change_lanes(
            tx, owners=[owner], plans=[LanePlan("send", pace)], established=None, by_person=True
        )
    )
    await plans.rows("update lane set tat = cool_until where owner = $1 and kind = 'send'", owner)


async def of_run(plans: PlansBench, run_id: UUID) -> Outlook:
    async with plans.database.transaction() as tx:
        run = await get_run(tx, run_id)
        assert run is not None
        outlook = await ahead(plans).of_run(tx, run)
    assert outlook is not None
    return outlook


async def test_the_state_of_a_lane_is_that_of_the_pure_model(plans: PlansBench) -> None:
    account = await plans.account()
    owner = str(account.id)
    real = RealClock()
    await plans.links.lanes.ensure(owner, slow_lanes("simulated"), established=True)
    (before, budget) = await plans.do(lambda tx: lanes.list_lane_states(tx, owner=owner, kind="send"))
    assert (before.pace, budget.pace) == (Pace(2.0, 2), Pace(1000.0, 100))
    at_s = await plans.do(lanes.get_real_s)
    assert abs(at_s - real.now().timestamp()) < 60
    await plans.links.lanes.acquire(owner, "send")
    (after, _) = await plans.do(lambda tx: lanes.list_lane_states(tx, owner=owner, kind="send"))
    (granted, _) = grant_permits([before, budget], count=1, at_s=at_s).lanes
    assert after.tat_s == pytest.approx(granted.tat_s, abs=5)
    assert (sum(after.uses), after.rate, after.epoch) == (1, 2.0, 1)


async def test_without_a_lane_the_connectors_pace_counts(plans: PlansBench) -> None:
    draft = await plans.draft(*KEYS)
    await plans.rows("delete from lane")
    outlook = await plans.do(lambda tx: ahead(plans).of_draft(tx, draft))
    # 60 messages at 2 a minute, the first at once, from the next fire on.
    fire_at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert outlook.forecast.ends_at is not None
    assert timedelta(minutes=28) < outlook.forecast.ends_at - fire_at < timedelta(minutes=30)
    assert outlook.reaches_all
    assert outlook.text.startswith("60 groups, done by about 2026-03-02 09:2")
    assert await plans.values("select count(*) from lane") == [0]


async def test_without_a_connector_an_established_pace_is_assumed(plans: PlansBench) -> None:
    draft = await plans.draft(*KEYS[:41])
    await plans.rows("delete from lane")

    def nowhere(platform: str) -> list[LanePlan]:
        raise Elsewhere(platform)

    outlook = await plans.do(
        lambda tx: Preflight(nowhere, plans.clock, slots=32).of_draft(tx, draft, at_once=True)
    )
    assert outlook.forecast.ends_at is not None
    assert outlook.forecast.ends_at - plans.now < timedelta(seconds=61)


async def test_the_slower_of_a_lane_and_its_budget_decides(plans: PlansBench) -> None:
    draft = await plans.draft(*KEYS)
    await plans.rows("delete from lane")

    def crowded(platform: str) -> list[LanePlan]:
        del platform
        return [LanePlan("send", Pace(600.0, 10), "budget:all"), LanePlan("budget:all", Pace(1.0, 2))]

    outlook = await plans.do(
        lambda tx: Preflight(crowded, plans.clock, slots=32).of_draft(tx, draft, at_once=True)
    )
    assert outlook.forecast.ends_at is not None
    assert outlook.forecast.ends_at - plans.now > timedelta(minutes=57)


async def test_whoever_is_not_reached_is_told_with_what_would_help(plans: PlansBench) -> None:
    account, spare, busy = await plans.account(), await plans.account("spare"), await plans.account("busy")
    draft = await plans.draft(*KEYS, account=account, parts=TWO_PARTS)
    await plans.refresh(spare)
    await plans.refresh(busy)
    await plans.rows("update account set state = 'restricted' where id = $1", busy.id)
    await set_pace(plans, account, Pace(1.0, 2))
    draft = replace(draft, window=Window(480, 555))
    outlook = await plans.do(lambda tx: ahead(plans).of_draft(tx, draft, at_once=True))
    assert not outlook.reaches_all
    assert outlook.forecast.targets_reached + outlook.forecast.targets_unreached == 60
    assert "60 groups are not reached before the delivery window closes on 2026-03-02 09:15" in outlook.text
    assert "The pace of the account does not allow more." in outlook.text
    wider, later, other = outlook.advice
    assert wider.startswith("A delivery window until 10:")
    assert later.startswith("Going on in the next window")
    assert other.endswith("can be sent from another account: spare.")


async def test_an_account_that_sees_too_few_of_the_groups_is_no_advice(plans: PlansBench) -> None:
    account, spare = await plans.account(), await plans.account("spare")
    draft = await plans.draft(*KEYS, account=account)
    await plans.refresh(spare)
    await plans.rows("update target_account set gone_at = $1 where account_id = $2", plans.now, spare.id)
    await set_pace(plans, account, Pace(1.0, 2))
    draft = replace(draft, window=Window(480, 490))
    outlook = await plans.do(lambda tx: ahead(plans).of_draft(tx, draft, at_once=True))
    assert outlook.forecast.targets_unreached > 40
    assert not [sentence for sentence in outlook.advice if "spare" in sentence]


async def test_other_runs_of_the_account_come_in_between(plans: PlansBench) -> None:
    account = await plans.account()
    reminder_id = await plans.create(*KEYS, account=account)
    await set_pace(plans, account, Pace(10.0, 2))
    alone = await plans.do(lambda tx: ahead(plans).of_reminder(tx, reminder_id, at_once=True))
    first, second = await plans.run_now(reminder_id), await plans.run_now(reminder_id)
    beside = await of_run(plans, first)
    assert (beside.targets, beside.messages, beside.queued) == (60, 60, 60)
    assert "60 messages of other runs" in beside.text
    assert alone.forecast.ends_at is not None
    assert beside.forecast.ends_at is not None
    assert beside.forecast.ends_at - alone.forecast.ends_at > timedelta(minutes=3)
    await plans.do(lambda tx: controls.pause(tx, second))
    assert (await of_run(plans, first)).queued == 0
    assert (await plans.do(lambda tx: preflight.list_queued(tx, account.id)))[0].messages == 60


async def test_a_run_under_way_counts_only_what_is_left(plans: PlansBench) -> None:
    account = await plans.account()
    run_id = await plans.run_now(await plans.create(*KEYS[:10], account=account, parts=TWO_PARTS))
    await plans.rows("update part set state = 'sent' where delivery <= 4")
    await plans.rows("update delivery set state = 'sent', ended_at = $1 where number <= 4", plans.now)
    assert ((await of_run(plans, run_id)).targets, (await of_run(plans, run_id)).messages) == (6, 12)
    await plans.do(lambda tx: controls.cancel(tx, run_id, now=plans.now))
    async with plans.database.transaction() as tx:
        run = await get_run(tx, run_id)
        assert run is not None
        assert await ahead(plans).of_run(tx, run) is None


async def test_an_account_that_cannot_send_is_named_first(plans: PlansBench) -> None:
    account = await plans.account()
    draft = await plans.draft("a", account=account)
    await plans.rows("update account set state = 'needs_login', state_reason = 'The session ended.'")
    outlook = await plans.do(lambda tx: ahead(plans).of_draft(tx, draft))
    assert outlook.text.startswith(
        "Nothing is sent while main must sign in again (The session ended). If it could: 1 group, done by"
    )


async def test_without_an_account_there_is_no_forecast(plans: PlansBench) -> None:
    draft = await plans.draft("a")
    for account_id, sentence in ((None, "needs an account"), (unknown(), "no such account")):
        with pytest.raises(UserError, match=sentence):
            await plans.do(
                lambda tx, account_id=account_id: ahead(plans).of_draft(
                    tx, replace(draft, account_id=account_id)
                )
            )


def test_the_deployments_pace_of_sends_is_kept_whatever_a_connector_dares(plans: PlansBench) -> None:
    plans.links.send_per_minute = 25.0
    paces = {plan.kind: plan.pace.per_minute for plan in plans.links.plans_of("simulated")}
    assert (paces["send"], paces["read"]) == (25.0, 1_000_000)


async def test_a_forecast_knows_that_accounts_take_turns_when_there_are_more_of_them_than_slots(
    plans: PlansBench,
) -> None:
    late = await plans.account("late")
    draft = await plans.draft(*KEYS[:20], account=late)
    await set_pace(plans, late, Pace(10.0, 2))
    for number in range(3):
        account = await plans.account(f"busy-{number}")
        await plans.run_now(await plans.create("lake", account=account))

    async def look(slots: int) -> Outlook:
        ahead = Preflight(slow_lanes, plans.clock, slots=slots)
        return await plans.do(lambda tx: ahead.of_draft(tx, draft, at_once=True))

    enough, few = await look(4), await look(2)
    assert "take turns" not in enough.text
    assert "4 accounts send now and take turns" in few.text
    assert enough.forecast.ends_at is not None
    assert few.forecast.ends_at is not None
    taken, shared = (seen.forecast.ends_at - plans.now for seen in (enough, few) if seen.forecast.ends_at)
    assert shared > 1.8 * taken
