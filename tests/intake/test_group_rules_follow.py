"""A member that its rule no longer finds leaves the group, unless a person has shaped that group."""

from __future__ import annotations

import pytest
from missing import Missing
from rule_stage import RuleStage, open_rule_stage

from headgate.catalogue.groups import editing, rules


@pytest.fixture
def stage(missing: Missing) -> RuleStage:
    return open_rule_stage(missing)


async def test_an_item_of_another_creator_leaves_and_finds_its_own_group(stage: RuleStage) -> None:
    await stage.rule_on()
    await stage.made_by("Ada", "Castle part 1", "Castle part 2", "Castle part 3")
    await stage.made_by("Grace", "Castle part 4")
    await stage.say_creator("Grace", "Castle part 3")
    assert await stage.group_of("Castle part 3") == await stage.group_of("Castle part 4")
    assert await stage.group_of("Castle part 3") != await stage.group_of("Castle part 1")
    assert await stage.is_sound()


async def test_a_group_that_all_have_left_is_gone(stage: RuleStage) -> None:
    await stage.rule_on()
    await stage.made_by("Ada", "Castle part 1", "Castle part 2")
    await stage.say_creator("Grace", "Castle part 1", "Castle part 2")
    assert await stage.shelf() == {"Castle": ["Castle part 1", "Castle part 2"]}
    assert len(await stage.ask("select id from item_group")) == 1
    assert await stage.is_sound()


async def test_members_of_a_group_that_a_person_named_stay(stage: RuleStage) -> None:
    await stage.rule_on()
    await stage.made_by("Ada", "Castle part 1", "Castle part 2")
    group_id = await stage.group_of("Castle part 1")
    assert group_id is not None
    async with stage.missing.database.transaction() as tx:
        await editing.rename_group(tx, group_id, "My castle")
    await stage.say_creator("Grace", "Castle part 2")
    assert await stage.shelf() == {"My castle": ["Castle part 1", "Castle part 2"]}


async def test_a_member_that_a_person_added_stays(stage: RuleStage) -> None:
    await stage.rule_on()
    await stage.made_by("Ada", "Castle part 1", "Castle part 2", "Gate")
    group_id = await stage.group_of("Castle part 1")
    assert group_id is not None
    async with stage.missing.database.transaction() as tx:
        await editing.add_to_group(tx, group_id, [await stage.item("Gate")], now=stage.now)
    await stage.say_creator("Grace", "Gate")
    assert await stage.group_of("Gate") == group_id


async def test_members_stay_while_the_rule_is_off(stage: RuleStage) -> None:
    rule_id = await stage.rule_on()
    await stage.made_by("Ada", "Castle part 1", "Castle part 2")
    await stage.switch_off(rule_id)
    await stage.say_creator("Grace", "Castle part 2")
    assert await stage.group_of("Castle part 2") is not None


async def test_members_that_an_edited_rule_no_longer_matches_leave_when_it_is_on_again(
    stage: RuleStage,
) -> None:
    rule_id = await stage.rule_on()
    await stage.made_by("Ada", "Castle part 1", "Castle part 2", "Tower vol 1", "Tower vol 2")
    await stage.switch_off(rule_id)
    async with stage.missing.database.transaction() as tx:
        await rules.edit_rule(tx, rule_id, {"pattern": r"^(.+?) vol \d+$"})
    await stage.switch_on(rule_id)
    assert await stage.shelf() == {
        "Castle part 1": ["Castle part 1"],
        "Castle part 2": ["Castle part 2"],
        "Tower": ["Tower vol 1", "Tower vol 2"],
    }
    assert await stage.is_sound()
