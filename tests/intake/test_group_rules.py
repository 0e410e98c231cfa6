"""Rules group items by creator and title, or by replies; what a person did always goes before."""

from __future__ import annotations

import pytest
from missing import STREAM, Missing
from rule_stage import PARTS, RuleStage, open_rule_stage

from headgate.catalogue.groups import editing, rules
from headgate.catalogue.groups.details import show_group
from headgate.catalogue.labels import LabelChange
from headgate.domain.errors import NotFound, UserError
from headgate.domain.library import group_rules
from headgate.domain.streams.messages import Message
from headgate.storage.shelf import rule_groups
from headgate.testing import file_of


@pytest.fixture
def stage(missing: Missing) -> RuleStage:
    return open_rule_stage(missing)


class TestTitles:
    """Items of one creator whose titles share what a pattern finds."""

    async def test_a_rule_is_off_until_someone_switches_it_on(self, stage: RuleStage) -> None:
        rule = await stage.add_rule()
        assert not rule.enabled
        await stage.made_by("Ada", "Castle part 1", "Castle part 2")
        assert len(await stage.shelf()) == 2

    async def test_what_is_there_is_grouped_when_a_rule_is_switched_on(self, stage: RuleStage) -> None:
        await stage.made_by("Ada", "Castle part 1", "Castle part 2", "Castle gate")
        await stage.rule_on()
        assert await stage.shelf() == {
            "Castle": ["Castle part 1", "Castle part 2"],
            "Castle gate": ["Castle gate"],
        }
        assert await stage.is_sound()

    async def test_what_arrives_later_joins(self, stage: RuleStage) -> None:
        await stage.rule_on()
        await stage.made_by("Ada", "castle part 1")
        assert len(await stage.shelf()) == 1
        await stage.made_by("Ada", "Castle Part 2")
        await stage.made_by("Ada", "CASTLE part 3")
        assert await stage.shelf() == {"castle": ["CASTLE part 3", "Castle Part 2", "castle part 1"]}
        assert await stage.is_sound()

    async def test_another_creator_or_none_is_another_thing(self, stage: RuleStage) -> None:
        await stage.rule_on()
        await stage.made_by("Ada", "Castle part 1")
        await stage.made_by("Grace", "Castle part 2")
        await stage.items("Castle part 3", "Castle part 4")
        assert len(await stage.shelf()) == 4

    async def test_other_channels_are_never_mixed(self, stage: RuleStage) -> None:
        await stage.made_by("Ada", "Castle part 1", "Castle part 2")
        await stage.ask(
            "insert into channel (id, platform, key, kind, title, created_at)"
            " values (gen_random_uuid(), 'simulated', 'else', 'stream', 'Elsewhere', $1)",
            stage.now,
        )
        await stage.ask(
            "update item set channel_id = (select id from channel where key = 'else') where title like '%2'"
        )
        await stage.rule_on()
        assert len(await stage.shelf()) == 2

    async def test_the_group_says_which_rule_made_it(self, stage: RuleStage) -> None:
        await stage.made_by("Ada", "Castle part 1", "Castle part 2")
        rule_id = await stage.rule_on(name="Parts of one thing")
        group_id = await stage.group_of("Castle part 1")
        assert group_id is not None
        async with stage.missing.database.transaction() as tx:
            shown = await show_group(tx, group_id)
            assert shown.reason.startswith(f"By the rule “Parts of one thing” in {STREAM}; grouped ")
            assert (shown.kind, shown.name_by) == ("rule", "automatic")
            await rules.remove_rule(tx, rule_id)
            assert "By a rule that was removed since" in (await show_group(tx, group_id)).reason
        assert len(await stage.shelf()) == 1

    async def test_many_items_are_taken_in_batches(
        self, stage: RuleStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headgate.ingest.groups.rule_sweeps.BATCH", 3)
        titles = [f"Castle part {number}" for number in range(10)]
        await stage.made_by("Ada", *titles)
        await stage.rule_on()
        assert await stage.shelf() == {"Castle": titles}
        assert await stage.is_sound()

    async def test_a_group_has_at_most_so_many_members(
        self, stage: RuleStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rule_groups, "MAX_MEMBERS", 3)
        await stage.made_by("Ada", *(f"Castle part {number}" for number in range(5)))
        rule_id = await stage.rule_on()
        assert sorted(map(len, (await stage.shelf()).values())) == [1, 1, 3]
        await stage.made_by("Ada", "Castle part 9")
        assert sorted(map(len, (await stage.shelf()).values())) == [1, 1, 1, 3]
        async with stage.missing.database.transaction() as tx:
            assert (await rules.get_rule(tx, rule_id)).groups == 1
        assert group_rules.MAX_MEMBERS == 1000


class TestReplies:
    """Messages that answer each other."""

    async def test_a_chain_is_one_group_named_by_its_first_message(self, stage: RuleStage) -> None:
        await stage.rule_on(name="Replies", kind="replies", pattern="")
        await stage.accept(*_chain(stage))
        await stage.items("alone")
        assert await stage.shelf() == {"Castle, in pieces": ["gate", "tower", "wall"], "alone": ["alone"]}
        assert await stage.is_sound()

    async def test_the_order_of_reading_does_not_matter(self, stage: RuleStage) -> None:
        await stage.rule_on(name="Replies", kind="replies", pattern="")
        for message in reversed(_chain(stage)):
            await stage.accept(message)
        assert await stage.shelf() == {"Castle, in pieces": ["gate", "tower", "wall"]}
        assert await stage.is_sound()

    async def test_what_is_there_is_grouped_when_the_rule_is_switched_on(self, stage: RuleStage) -> None:
        await stage.accept(*_chain(stage))
        assert len(await stage.shelf()) == 3
        await stage.rule_on(name="Replies", kind="replies", pattern="")
        assert len(await stage.shelf()) == 1

    async def test_several_files_of_one_message_are_no_chain(self, stage: RuleStage) -> None:
        await stage.rule_on(name="Replies", kind="replies", pattern="")
        first = stage.post("one.zip")
        pair = [file_of(name, name.encode()) for name in ("two.zip", "three.zip")]
        await stage.accept(stage.missing.world.post(STREAM, files=pair, reply_to=first.key))
        # What they answer was never read: one message is left of the chain.
        assert len(await stage.shelf()) == 2

    async def test_a_dissolved_chain_does_not_come_back_when_older_messages_are_read(
        self, stage: RuleStage
    ) -> None:
        await stage.rule_on(name="Replies", kind="replies", pattern="")
        first, second, third = _chain(stage)
        await stage.accept(third, stage.post("moat.zip", reply_to=third.key))
        group_id = await stage.group_of("wall")
        assert group_id is not None
        await stage.dissolve(group_id)
        # The group was known by the second message, and now the chain begins with the first.
        await stage.accept(second)
        await stage.accept(first)
        assert len(await stage.shelf()) == 4
        assert await stage.is_sound()

    async def test_a_chain_stays_one_group_when_older_messages_are_read(self, stage: RuleStage) -> None:
        await stage.rule_on(name="Replies", kind="replies", pattern="")
        first, second, third = _chain(stage)
        await stage.accept(third, stage.post("moat.zip", reply_to=third.key))
        group_id = await stage.group_of("wall")
        await stage.accept(second)
        await stage.accept(first)
        assert await stage.shelf() == {"Castle, in pieces": ["gate", "moat", "tower", "wall"]}
        assert await stage.group_of("gate") == group_id


class TestPeopleOutrankRules:
    """What a person did is never undone by a rule."""

    async def test_an_item_that_was_taken_out_stays_out(self, stage: RuleStage) -> None:
        await stage.made_by("Ada", "Castle part 1", "Castle part 2", "Castle part 3")
        rule_id = await stage.rule_on()
        group_id = await stage.group_of("Castle part 1")
        assert group_id is not None
        await stage.remove(group_id, await stage.item("Castle part 3"))
        await stage.made_by("Ada", "Castle part 4")
        await stage.switch_off(rule_id)
        await stage.switch_on(rule_id)
        assert await stage.group_of("Castle part 3") is None
        assert await stage.group_of("Castle part 4") == group_id

    async def test_a_dissolved_group_does_not_come_back(self, stage: RuleStage) -> None:
        await stage.made_by("Ada", "Castle part 1", "Castle part 2")
        rule_id = await stage.rule_on()
        group_id = await stage.group_of("Castle part 1")
        assert group_id is not None
        await stage.dissolve(group_id)
        await stage.made_by("Ada", "Castle part 3", "Castle part 4")
        await stage.switch_off(rule_id)
        await stage.switch_on(rule_id)
        assert len(await stage.shelf()) == 4

    async def test_no_other_rule_puts_together_what_a_person_took_apart(self, stage: RuleStage) -> None:
        one, two = stage.album("Castle part 1.zip", "Castle part 2.zip")
        await stage.accept(one, two)
        await stage.say_creator("Ada", "Castle part 1", "Castle part 2")
        album = await stage.group_of("Castle part 1")
        assert album is not None
        await stage.dissolve(album)
        await stage.rule_on()
        assert len(await stage.shelf()) == 2
        made = await stage.create(
            "By hand", await stage.item("Castle part 1"), await stage.item("Castle part 2")
        )
        await stage.dissolve(made)
        await stage.missing.work()
        assert len(await stage.shelf()) == 2

    async def test_groups_of_people_and_albums_keep_their_members(self, stage: RuleStage) -> None:
        await stage.made_by("Ada", "Castle part 1", "Castle part 2", "Castle part 3")
        mine = await stage.create(
            "Mine", await stage.item("Castle part 1"), await stage.item("Castle part 2")
        )
        await stage.rule_on()
        assert await stage.group_of("Castle part 1") == mine
        assert await stage.group_of("Castle part 3") is None

    async def test_a_name_of_a_person_stays(self, stage: RuleStage) -> None:
        await stage.rule_on(name="Replies", kind="replies", pattern="")
        first, *later = _chain(stage)
        await stage.accept(*later)
        group_id = await stage.group_of("wall")
        assert group_id is not None
        await stage.rename(group_id, "My castle")
        await stage.accept(first)
        assert await stage.shelf() == {"My castle": ["gate", "tower", "wall"]}


class TestSwitchingOff:
    """The person chooses what becomes of the groups."""

    async def test_groups_stay_and_nothing_joins_them(self, stage: RuleStage) -> None:
        await stage.made_by("Ada", "Castle part 1", "Castle part 2")
        rule_id = await stage.rule_on()
        await stage.switch_off(rule_id)
        await stage.made_by("Ada", "Castle part 3")
        assert await stage.shelf() == {
            "Castle": ["Castle part 1", "Castle part 2"],
            "Castle part 3": ["Castle part 3"],
        }

    async def test_groups_that_nobody_changed_are_dissolved_if_wanted(
        self, stage: RuleStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headgate.storage.groups.rules.MAX_DISSOLVED", 1)
        for name in ("Castle", "Ship", "Tower", "Wall", "Gate"):
            await stage.made_by("Ada", f"{name} part 1", f"{name} part 2", f"{name} part 3")
        rule_id = await stage.rule_on()
        await stage.made_by("Ada", "Odd one")
        groups = {name: await stage.group_of(f"{name} part 1") for name in ("Ship", "Tower", "Wall")}
        ship, tower, wall = groups.values()
        assert ship is not None
        assert tower is not None
        assert wall is not None
        await stage.rename(ship, "My ship")
        await stage.remove(tower, await stage.item("Tower part 3"))
        await stage.add(wall, await stage.item("Odd one"))
        await stage.switch_off(rule_id, dissolve=True)
        shelf = await stage.shelf()
        assert [len(titles) for titles in shelf.values() if len(titles) > 1] == [3, 2, 4]
        assert {name for name, titles in shelf.items() if len(titles) > 1} == {"My ship", "Tower", "Wall"}
        assert await stage.is_sound()
        await stage.switch_on(rule_id)
        assert {name for name, titles in (await stage.shelf()).items() if len(titles) > 1} == {
            "Castle",
            "Gate",
            "My ship",
            "Tower",
            "Wall",
        }

    async def test_a_rule_that_is_on_cannot_be_changed(self, stage: RuleStage) -> None:
        rule_id = await stage.rule_on()
        async with stage.missing.database.transaction() as tx:
            with pytest.raises(UserError, match="is in use"):
                await rules.edit_rule(tx, rule_id, {"pattern": "^(.+)$"})
        await stage.switch_off(rule_id)
        async with stage.missing.database.transaction() as tx:
            assert (await rules.edit_rule(tx, rule_id, {"pattern": "^(.+)$"})).pattern == "^(.+)$"

    async def test_rules_that_cannot_be_used_are_refused(self, stage: RuleStage) -> None:
        with pytest.raises(UserError, match="regular expression"):
            await stage.add_rule(pattern="(")
        with pytest.raises(UserError, match="several groups"):
            await stage.add_rule(pattern="(a)(b)")
        await stage.add_rule()
        with pytest.raises(UserError, match="already"):
            await stage.add_rule()
        async with stage.missing.database.transaction() as tx:
            with pytest.raises(NotFound):
                await rules.get_rule(tx, stage.missing.channel_id)


class TestTrying:
    """A dry run says what a rule would do with what is there, and writes nothing."""

    async def test_a_trial_names_the_groups_that_a_rule_would_make(self, stage: RuleStage) -> None:
        await stage.made_by("Ada", "Castle part 1", "Castle part 2", "Ship part 1", "Gate")
        tried = await stage.try_rule(name="Parts", kind="title", pattern=PARTS)
        assert (tried.tried, tried.groups, tried.items, tried.has_older) == (4, 1, 2, False)
        assert [(one.name, one.channel, one.items) for one in tried.examples] == [("Castle", STREAM, 2)]
        assert len(await stage.shelf()) == 4
        assert await stage.ask("select * from group_candidate") == []

    async def test_a_trial_of_replies_names_the_chains(self, stage: RuleStage) -> None:
        await stage.accept(*_chain(stage))
        tried = await stage.try_rule(name="Replies", kind="replies")
        assert [(one.name, one.items) for one in tried.examples] == [("Castle, in pieces", 3)]
        await stage.rule_on(name="Replies", kind="replies", pattern="")
        assert len(await stage.shelf()) == 1


async def test_two_transactions_that_find_one_group_make_one(stage: RuleStage) -> None:
    """Neither sees the other's item, and yet both end in the group."""
    await stage.rule_on()
    await stage.accept(stage.post("Castle part 1.zip"), stage.post("Castle part 2.zip"))
    change = LabelChange(creator="Ada")
    held, other = [await stage.item(f"Castle part {number}") for number in (1, 2)]
    async with stage.missing.database.transaction() as tx:
        await editing.label_things(tx, [held], change, now=stage.now)
        await tx.finish()
        async with stage.missing.database.transaction() as second:
            await editing.label_things(second, [other], change, now=stage.now)
    await stage.missing.work()
    assert await stage.shelf() == {"Castle": ["Castle part 1", "Castle part 2"]}
    assert await stage.is_sound()


def _chain(stage: RuleStage) -> list[Message]:
    """Post three messages of which the later answer the earlier."""
    first = stage.post("gate.zip", text="Castle, in pieces")
    second = stage.post("tower.zip", reply_to=first.key)
    return [first, second, stage.post("wall.zip", reply_to=second.key)]
