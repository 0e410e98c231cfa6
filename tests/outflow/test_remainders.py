"""The rest of a run, sent by another account because a person says so."""

from __future__ import annotations

from uuid import UUID

import pytest
from plans_bench import PlansBench, unknown

from headgate.domain.errors import UserError
from headgate.lanes.links import AccountRef
from headgate.outflow.reminders.drafts import DraftPart
from headgate.outflow.reminders.runs import make_remainder_run


async def begun(plans: PlansBench, **states: str) -> UUID:
    """Return a run of two messages each whose deliveries are in these states, by key."""
    parts = (DraftPart("Dear {group}"), DraftPart("Goodbye"))
    run_id = await plans.run_now(await plans.create(*states, parts=parts))
    for key, state in states.items():
        await set_state(plans, run_id, key, state)
    await plans.rows("delete from pgqueuer")
    return run_id


async def set_state(plans: PlansBench, run_id: UUID, key: str, state: str) -> None:
    await plans.rows(
        "update delivery set state = $3 where run_id = $1 and target_key = $2", run_id, key, state
    )


async def set_part(plans: PlansBench, run_id: UUID, key: str, number: int, state: str) -> None:
    await plans.rows(
        "update part p set state = $4, sent_at = $5, message_key = 'm1' from delivery d where d.run_id = $1"
        " and d.target_key = $2 and p.run_id = d.run_id and p.delivery = d.number and p.number = $3",
        run_id,
        key,
        number,
        state,
        plans.now,
    )


async def pass_on(
    plans: PlansBench, run_id: UUID, account: AccountRef, *, include_uncertain: bool = False
) -> UUID:
    return await plans.do(
        lambda tx: make_remainder_run(
            tx, run_id, account.id, include_uncertain=include_uncertain, ids=plans.ids, now=plans.now
        )
    )


async def keys_of(plans: PlansBench, run_id: UUID) -> list[str]:
    return await plans.values("select target_key from delivery where run_id = $1 order by number", run_id)


async def test_the_rest_goes_to_another_account_and_the_old_run_lets_go_of_it(plans: PlansBench) -> None:
    first, spare = await plans.account(), await plans.account("spare")
    run_id = await begun(
        plans, a="sent", b="failed", c="skipped", d="pending", e="uncertain", f="sending", g="pending"
    )
    new_id = await pass_on(plans, run_id, spare)
    assert await keys_of(plans, new_id) == ["b", "c", "d", "g"]
    assert await plans.rows(
        "select trigger, remainder_of, account_name, total, state, title from run where id = $1", new_id
    ) == [
        {
            "trigger": "remainder",
            "remainder_of": run_id,
            "account_name": "spare",
            "total": 4,
            "state": "waiting",
            "title": "Water the plants",
        }
    ]
    assert await plans.rows(
        "select target_key, state, error from delivery where run_id = $1 and error <> '' order by 1", run_id
    ) == [
        {"target_key": "d", "state": "skipped", "error": "passed on to spare"},
        {"target_key": "g", "state": "skipped", "error": "passed on to spare"},
    ]
    assert await plans.values("select text from run_part where run_id = $1 order by number", new_id) == [
        "Dear {group}",
        "Goodbye",
    ]
    assert await plans.values("select distinct account_id from part where run_id = $1", new_id) == [spare.id]
    assert await plans.values("select dedupe_key from pgqueuer order by 1") == sorted(
        [f"send:{first.id}", f"send:{spare.id}"]
    )


async def test_nothing_of_what_is_passed_on_can_still_be_begun_in_the_old_run(plans: PlansBench) -> None:
    run_id = await begun(plans, a="pending", b="pending")
    await set_part(plans, run_id, "a", 1, "sending")
    new_id = await pass_on(plans, run_id, await plans.account("spare"))
    assert await keys_of(plans, new_id) == ["b"]
    assert await plans.values(
        "select d.target_key || p.number from part p join delivery d on d.run_id = p.run_id"
        " and d.number = p.delivery where p.run_id = $1 and p.state in ('planned', 'sending') order by 1",
        run_id,
    ) == ["a1", "a2"]


async def test_messages_that_a_target_has_are_not_sent_again_by_the_other_account(plans: PlansBench) -> None:
    run_id = await begun(plans, a="failed")
    await set_part(plans, run_id, "a", 1, "sent")
    await set_part(plans, run_id, "a", 2, "failed")
    new_id = await pass_on(plans, run_id, await plans.account("spare"))
    assert await plans.rows(
        "select number, state, message_key, sent_at from part where run_id = $1 order by 1", new_id
    ) == [
        {"number": 1, "state": "sent", "message_key": "m1", "sent_at": plans.now},
        {"number": 2, "state": "planned", "message_key": "", "sent_at": None},
    ]


async def test_what_is_uncertain_is_passed_on_only_if_a_person_says_so(plans: PlansBench) -> None:
    spare = await plans.account("spare")
    run_id = await begun(plans, a="uncertain", b="sent")
    await set_part(plans, run_id, "a", 1, "uncertain")
    with pytest.raises(UserError, match="Nothing of this run is left to send"):
        await pass_on(plans, run_id, spare)
    new_id = await pass_on(plans, run_id, spare, include_uncertain=True)
    assert await keys_of(plans, new_id) == ["a"]
    assert await plans.values("select state from part where run_id = $1", new_id) == ["planned", "planned"]


async def test_the_same_rest_is_never_passed_on_twice(plans: PlansBench) -> None:
    second, third = await plans.account("second"), await plans.account("third")
    run_id = await begun(plans, a="failed", b="skipped", c="sent")
    second_id = await pass_on(plans, run_id, second)
    with pytest.raises(UserError, match="Nothing of this run is left"):
        await pass_on(plans, run_id, third)
    await set_state(plans, second_id, "a", "sent")
    await set_state(plans, second_id, "b", "failed")
    third_id = await pass_on(plans, second_id, third)
    assert await keys_of(plans, third_id) == ["b"]
    with pytest.raises(UserError, match="Nothing of this run is left"):
        await pass_on(plans, run_id, third)


async def test_another_account_of_the_same_platform_is_needed(plans: PlansBench) -> None:
    run_id = await begun(plans, a="failed")
    with pytest.raises(UserError, match="main already sends this run"):
        await pass_on(plans, run_id, await plans.account())
    with pytest.raises(UserError, match="the groups of this run are on simulated"):
        await pass_on(plans, run_id, await plans.account("other", platform="telegram"))
    with pytest.raises(UserError, match="no such run"):
        await pass_on(plans, unknown(), await plans.account("spare"))
    assert await plans.values("select count(*) from run") == [1]


async def test_the_rest_of_an_account_that_was_removed_can_be_sent(plans: PlansBench) -> None:
    run_id = await begun(plans, a="pending")
    await plans.rows("delete from account")
    with pytest.raises(UserError, match="the groups of this run are on simulated"):
        await pass_on(plans, run_id, await plans.account("other", platform="telegram"))
    new_id = await pass_on(plans, run_id, await plans.account("spare"))
    assert await keys_of(plans, new_id) == ["a"]
