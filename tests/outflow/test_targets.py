"""Targets: what accounts can write to, found by words, and kept together in lists."""

from __future__ import annotations

import pytest
from plans_bench import PlansBench, unknown

from headgate.domain.errors import AuthFailed, UserError
from headgate.outflow.reminders import targets as outflow_targets
from headgate.storage.reminders.reminder_overview import list_reminders
from headgate.storage.reminders.target_lists import list_lists, list_members
from headgate.storage.reminders.targets import FIRST, Refreshed, TargetCursor, find_targets, search_targets


async def test_targets_follow_what_the_account_sees(plans: PlansBench) -> None:
    account = await plans.account()
    plans.world.add_group("lake", title="Lake walkers")
    plans.world.add_group("hill", title="Hill walkers")
    assert await plans.refresh(account) == Refreshed(seen=2, new=2, gone=0)
    del plans.world.groups["hill"]
    plans.world.groups["lake"].title = "Lake and river walkers"
    plans.clock.advance(60)
    assert await plans.refresh(account) == Refreshed(seen=1, new=0, gone=1)
    assert await plans.values("select title from target order by key") == [
        "Hill walkers",
        "Lake and river walkers",
    ]
    plans.world.add_group("hill", title="Hill walkers")
    assert await plans.refresh(account) == Refreshed(seen=2, new=1, gone=0)
    assert await plans.values("select gone_at from target_account") == [None, None]


async def test_streams_are_no_targets(plans: PlansBench) -> None:
    account = await plans.account()
    plans.world.add_stream("packs", title="Packs")
    assert (await plans.refresh(account)).seen == 0


async def test_what_one_account_loses_another_may_still_see(plans: PlansBench) -> None:
    first, second = await plans.account("first"), await plans.account("second")
    group = plans.world.add_group("lake")
    await plans.refresh(first)
    await plans.refresh(second)
    group.members = {"second"}
    await plans.refresh(first)
    assert await plans.do(lambda tx: search_targets(tx, account_id=first.id, limit=9)) == []
    (line,) = await plans.do(lambda tx: search_targets(tx, account_id=second.id, limit=9))
    assert (line.key, line.accounts) == ("lake", 1)


async def test_every_word_of_a_search_is_in_the_title_and_signs_are_taken_literally(
    plans: PlansBench,
) -> None:
    for number, title in enumerate(["Lake Walkers", "lake swimmers", "100% wool_knitters"]):
        plans.world.add_group(f"g{number}", title=title)
    await plans.refresh(await plans.account())

    async def titles(words: str) -> list[str]:
        return [one.title for one in await plans.do(lambda tx: search_targets(tx, words=words, limit=9))]

    assert await titles("lake") == ["lake swimmers", "Lake Walkers"]
    assert await titles("WALK lake") == ["Lake Walkers"]
    assert await titles("%") == ["100% wool_knitters"]
    assert await titles("a_e") == []


async def test_pages_of_targets_hold_each_once_also_among_equal_titles(plans: PlansBench) -> None:
    for number in range(7):
        plans.world.add_group(f"g{number}", title="Same" if number % 2 else "same")
    await plans.refresh(await plans.account())
    seen: list[str] = []
    place = FIRST
    while page := await plans.do(lambda tx, at=place: search_targets(tx, after=at, limit=2)):
        seen += [one.key for one in page]
        place = TargetCursor(page[-1].title, page[-1].id)
    assert sorted(seen) == [f"g{number}" for number in range(7)]


async def test_a_key_goes_before_an_equal_title(plans: PlansBench) -> None:
    plans.world.add_group("lake", title="Hill")
    plans.world.add_group("hill", title="Lake")
    await plans.refresh(await plans.account())
    found = await plans.do(lambda tx: find_targets(tx, ["lake", "HILL"], platform="simulated"))
    assert {one.reference: one.key for one in found} == {"lake": "lake", "HILL": "lake"}
    by_id = await plans.do(lambda tx: find_targets(tx, [str(found[0].id)], platform="simulated"))
    assert [one.key for one in by_id] == ["lake"]


async def test_a_list_keeps_its_order_and_holds_each_target_once(plans: PlansBench) -> None:
    a, b, c = await plans.targets("a", "b", "c")
    list_id = await plans.do(
        lambda tx: outflow_targets.create_list(tx, "Walkers", [c, a, c], ids=plans.ids, now=plans.now)
    )
    assert await plans.do(lambda tx: outflow_targets.add_members(tx, list_id, [a, b])) == 1
    members = await plans.do(lambda tx: list_members(tx, list_id, limit=9))
    assert [one.key for one in members] == ["c", "a", "b"]
    second = await plans.do(lambda tx: list_members(tx, list_id, after=members[0].place, limit=1))
    assert [one.key for one in second] == ["a"]
    assert await plans.do(lambda tx: outflow_targets.remove_members(tx, list_id, [a, unknown()])) == 1
    (line,) = await plans.do(list_lists)
    assert (line.name, line.members, line.reminders) == ("Walkers", 2, 0)


async def test_names_of_lists_are_unique_whatever_their_case(plans: PlansBench) -> None:
    async def create(name: str):
        return await plans.do(lambda tx: outflow_targets.create_list(tx, name, ids=plans.ids, now=plans.now))

    await create("Walkers")
    second = await create("Swimmers")
    with pytest.raises(UserError, match="There is already a list 'walkers'"):
        await create(" walkers ")
    with pytest.raises(UserError, match="There is already a list 'WALKERS'"):
        await plans.do(lambda tx: outflow_targets.rename_list(tx, second, "WALKERS"))
    await plans.do(lambda tx: outflow_targets.rename_list(tx, second, "swimmers"))
    assert (await plans.do(lambda tx: outflow_targets.find_list(tx, "SWIMMERS"))).name == "swimmers"


async def test_a_list_that_is_gone_is_named_as_such(plans: PlansBench) -> None:
    with pytest.raises(UserError, match="no such list"):
        await plans.do(lambda tx: outflow_targets.add_members(tx, unknown(), []))
    with pytest.raises(UserError, match="There is no list 'x'"):
        await plans.do(lambda tx: outflow_targets.find_list(tx, "x"))
    with pytest.raises(UserError, match="needs a name"):
        await plans.do(lambda tx: outflow_targets.create_list(tx, " ", ids=plans.ids, now=plans.now))


async def test_emptying_a_list_names_the_reminders_that_nobody_gets_any_more(plans: PlansBench) -> None:
    lake, hill = await plans.targets("lake", "hill")
    list_id = await plans.do(
        lambda tx: outflow_targets.create_list(tx, "Walkers", [lake], ids=plans.ids, now=plans.now)
    )
    await plans.create(lists=(list_id,), title="Only walkers")
    await plans.create("hill", lists=(list_id,), title="Others too")
    with pytest.raises(outflow_targets.Breaks, match="of 'Walkers' nobody gets 'Only walkers'"):
        await plans.do(lambda tx: outflow_targets.remove_members(tx, list_id, [lake]))
    swapped = await plans.do(lambda tx: outflow_targets.remove_members(tx, list_id, [lake], add=[hill]))
    assert swapped == 1
    assert await plans.do(lambda tx: outflow_targets.remove_members(tx, list_id, [hill], confirmed=True)) == 1
    lines = await plans.do(lambda tx: list_reminders(tx, limit=10))
    assert {line.title: line.trouble for line in lines} == {
        "Only walkers": "It has no targets. Add a group or a list.",
        "Others too": "",
    }
    await plans.rows("delete from account")
    lines = await plans.do(lambda tx: list_reminders(tx, limit=10))
    assert {line.trouble for line in lines} == {"Its account was removed. Choose another one."}


async def test_an_account_that_is_signed_out_is_suspended_whoever_asked_for_the_call(
    plans: PlansBench,
) -> None:
    account = await plans.account()
    plans.world.logout("main")
    with pytest.raises(AuthFailed):
        await plans.refresh(account)
    assert await plans.values("select state from account") == ["needs_login"]
