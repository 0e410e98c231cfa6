"""What people say of creators and tags goes before the rules, and stays."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from label_bench import LabelBench, message

from headgate.catalogue import labels
from headgate.catalogue.labels import LabelChange
from headgate.catalogue.sets import separate_files
from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.item_labels import ShownLabel
from headgate.storage.catalogue.sets import merge_items
from headgate.storage.labels.labels import hand_over


async def test_a_persons_creator_survives_edits_and_rules(library: LabelBench) -> None:
    await library.accept(message(1, "Creator: Tidewater"))
    await library.work()
    await library.say(1, creator="Northwind")
    await library.accept(message(1, "Creator: Somebody", edited=5))
    await library.edit_rule("Creator line", normalisation="lower")
    await library.work()
    assert (await library.labels_of(1)).creator == ShownLabel("Northwind", "person")


async def test_a_person_can_say_that_there_is_no_creator_and_leave_it_to_the_rules(
    library: LabelBench,
) -> None:
    await library.accept(message(1, "Creator: Tidewater"))
    await library.work()
    await library.say(1, creator="")
    await library.work()
    shown = await library.labels_of(1)
    assert (shown.creator, shown.no_creator) == (None, True)
    await library.say(1, reset_creator=True)
    assert (await library.labels_of(1)).creator == ShownLabel("Tidewater", "rule", "Creator line")


async def test_what_a_person_says_before_the_job_comes_stays(library: LabelBench) -> None:
    await library.accept(message(1, "Creator: Tidewater\n#otters"))
    await library.say(1, creator="Northwind", remove=("Otters",), add=("resin",))
    await library.work()
    shown = await library.labels_of(1)
    assert (shown.creator_name, shown.tag_names, shown.removed_tags) == ("Northwind", ("resin",), ("Otters",))


async def test_a_removed_tag_stays_removed_when_the_message_is_read_again(library: LabelBench) -> None:
    await library.accept(message(1, "#otters #seals"))
    await library.work()
    await library.say(1, remove=("otters",))
    await library.accept(message(1, "#otters #seals #new", edited=5))
    await library.work()
    assert await library.tags(1) == ("new", "seals")
    await library.say(1, reset=("otters",))
    assert await library.tags(1) == ("new", "otters", "seals")


async def test_a_tag_that_a_person_added_stays_when_no_rule_reads_it_any_more(library: LabelBench) -> None:
    await library.accept(message(1, "#otters"))
    await library.work()
    await library.say(1, add=("otters",))
    await library.accept(message(1, "nothing", edited=5))
    await library.remove_rule("Hashtags")
    await library.work()
    assert (await library.labels_of(1)).tags == (ShownLabel("otters", "person"),)


async def test_tags_are_changed_for_many_items_at_once(library: LabelBench) -> None:
    await library.accept(*(message(number, "#otters") for number in (1, 2, 3)))
    await library.work()
    await library.say(1, 2, add=("resin",), remove=("otters",))
    assert [await library.tags(number) for number in (1, 2, 3)] == [("resin",), ("resin",), ("otters",)]


async def test_two_people_who_change_one_item_at_once_both_count(library: LabelBench) -> None:
    await library.accept(message(1))
    await asyncio.gather(*(library.say(1, add=(f"tag{number}",)) for number in range(6)))
    assert await library.tags(1) == tuple(f"tag{number}" for number in range(6))


async def test_the_same_tag_said_twice_at_once_is_one(library: LabelBench) -> None:
    await library.accept(message(1))
    await asyncio.gather(*(library.say(1, add=("resin",)) for _ in range(4)))
    assert await library.tags(1) == ("resin",)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"creator": "x" * 101}, "creator"),
        ({"creator": "---"}, "creator"),
        ({"creator": "a", "reset_creator": True}, "creator"),
        ({"add": ("",)}, "tags"),
        ({"add": ("\x00",)}, "tags"),
        ({"add": ("Otters",), "remove": ("otters",)}, "tags"),
        ({"add": tuple(f"tag{number}" for number in range(51))}, "tags"),
    ],
)
async def test_what_cannot_be_said_is_refused_with_its_field(
    library: LabelBench, change: dict[str, object], field: str
) -> None:
    await library.accept(message(1))
    with pytest.raises(UserError) as refused:
        await library.say(1, **change)
    assert refused.value.field == field
    assert await library.everything() == []


async def test_an_unknown_item_is_named_and_nothing_is_said_of_the_others(library: LabelBench) -> None:
    await library.accept(message(1))
    known = await library.item_of(1)
    with pytest.raises(NotFound) as refused:
        async with library.database.transaction() as tx:
            await labels.change_labels(
                tx, [known, uuid4()], LabelChange(add=("resin",)), now=library.clock.now()
            )
    assert refused.value.field == "items"
    assert await library.everything() == []


async def test_an_item_holds_only_so_many_tags_of_people(library: LabelBench) -> None:
    await library.accept(message(1))
    for first in range(0, 200, 50):
        await library.say(1, add=tuple(f"tag{number}" for number in range(first, first + 50)))
    with pytest.raises(UserError, match="at most 200"):
        await library.say(1, remove=("one more",))
    assert len(await library.tags(1)) == 200


class TestGrowingTogether:
    """Items that turn out to be one: what people said of each goes to the one that stays."""

    async def test_the_words_on_each_volume_count_for_the_set(self, library: LabelBench) -> None:
        # Without a second volume these are files of their own.
        await library.accept(message(1, "#otters", "pack.rar"), message(2, "#seals", "other.r00"))
        await library.work()
        first = await library.item_of(1)
        await library.say(1, creator="Tidewater", add=("resin",), remove=("otters",))
        await library.accept(message(3, "#owls", "pack.r00"))
        await library.work()
        assert await library.item_of(3) == await library.item_of(1) == first
        shown = await library.labels_of(3)
        assert (shown.creator_name, shown.tag_names, shown.removed_tags) == (
            "Tidewater",
            ("owls", "resin"),
            ("otters",),
        )

    async def test_the_later_word_stays_whichever_item_is_kept(self, library: LabelBench) -> None:
        for number, (source, target) in enumerate(((1, 2), (4, 3))):
            await library.accept(message(source), message(target))
            first, second = sorted((source, target))
            await library.say(first, creator="Tidewater", add=("resin",), remove=("otters",))
            await library.say(second, creator=f"Northwind {number}", remove=("resin",))
            aliases = {await library.item_of(source): await library.item_of(target)}
            async with library.database.transaction() as tx:
                await hand_over(tx, aliases)
            shown = await library.labels_of(target)
            assert shown.creator_name == f"Northwind {number}"
            assert (shown.tag_names, shown.removed_tags) == ((), ("otters", "resin"))

    async def test_what_a_person_is_saying_at_that_moment_is_handed_over(self, library: LabelBench) -> None:
        await library.accept(message(1), message(2))
        source, target = await library.item_of(1), await library.item_of(2)

        async def merge() -> None:
            async with library.database.transaction() as tx:
                await merge_items(tx, {source: target})

        async with library.database.transaction() as tx:
            change = LabelChange(add=("resin",))
            await labels.change_labels(tx, [source], change, now=library.clock.now())
            merging = asyncio.create_task(merge())
            await library.wait_for_waiting()
        await merging
        assert await library.tags(2) == ("resin",)

    async def test_a_word_on_an_item_that_is_part_of_a_set_now_counts_for_the_set(
        self, library: LabelBench
    ) -> None:
        await library.accept(message(1), message(2))
        source, target = await library.item_of(1), await library.item_of(2)
        async with library.database.transaction() as tx:
            await merge_items(tx, {source: target})
            change = LabelChange(add=("resin",))
            shown = await labels.change_labels(tx, [source], change, now=library.clock.now())
        assert list(shown) == [target]
        assert await library.tags(2) == ("resin",)

    async def test_what_rules_read_follows_the_messages(self, library: LabelBench) -> None:
        await library.accept(message(1, "#otters", "a.part1.rar"), message(2, "#seals", "a.part2.rar"))
        await library.work()
        assert await library.tags(1) == ("otters", "seals")
        files = await library.column("files_of", item_id=await library.item_of(1))
        async with library.database.transaction() as tx:
            await separate_files(tx, await library.item_of(1), files, now=library.clock.now())
        await library.work()
        assert (await library.tags(1), await library.tags(2)) == (("otters",), ("seals",))


class TestNames:
    """Renaming and merging creators and tags."""

    async def rename(self, library: LabelBench, kind: str, name: str, to: str) -> None:
        async with library.database.transaction() as tx:
            await labels.rename(tx, "tag" if kind == "tag" else "creator", name, to=to)

    async def test_a_renamed_tag_is_renamed_everywhere_and_in_future(self, library: LabelBench) -> None:
        await library.accept(message(1, "#dnd"), message(2, "#dnd #otters"))
        await library.work()
        await self.rename(library, "tag", "DND", "D&D")
        assert (await library.tags(1), await library.tags(2)) == (("D&D",), ("D&D", "otters"))
        await library.accept(message(3, "#dnd"))
        await library.work()
        assert await library.tags(3) == ("D&D",)

    async def test_merged_creators_are_one_and_merging_can_be_undone(self, library: LabelBench) -> None:
        await library.accept(message(1, "Creator: Tide water"), message(2, "Creator: Tidewater"))
        await library.work()
        await self.rename(library, "creator", "tide water", "Tidewater")
        assert (await library.creator(1), await library.creator(2)) == ("Tidewater", "Tidewater")
        async with library.database.transaction() as tx:
            await labels.restore_name(tx, "creator", "Tide Water")
        assert await library.creator(1) == "Tide water"

    async def test_what_was_renamed_twice_has_the_last_name(self, library: LabelBench) -> None:
        await library.accept(message(1, "#a1"), message(2, "#b1"), message(3, "#c1"))
        await library.work()
        await self.rename(library, "tag", "a1", "b1")
        await self.rename(library, "tag", "b1", "c1")
        assert {await library.tags(number) for number in (1, 2, 3)} == {("c1",)}
        await self.rename(library, "tag", "c1", "a1")
        assert {await library.tags(number) for number in (1, 2, 3)} == {("a1",)}

    async def test_a_persons_removal_counts_for_the_new_name(self, library: LabelBench) -> None:
        await library.accept(message(1, "#dnd #d20"))
        await library.work()
        await library.say(1, remove=("dnd",))
        await self.rename(library, "tag", "dnd", "d20")
        assert await library.tags(1) == ()
        await library.say(1, add=("D20",))
        assert await library.tags(1) == ("d20",)

    async def test_an_unknown_name_and_an_empty_one_are_refused_with_their_field(
        self, library: LabelBench
    ) -> None:
        await library.accept(message(1, "#dnd"))
        await library.work()
        for name, to, field in (("other", "x", "name"), ("dnd", " - ", "to"), ("dnd", "x" * 101, "to")):
            with pytest.raises(UserError) as refused:
                await self.rename(library, "tag", name, to)
            assert refused.value.field == field

    async def test_names_are_listed_with_how_many_items_have_them(self, library: LabelBench) -> None:
        await library.accept(*(message(number, f"#all #tag{number}") for number in range(1, 5)))
        await library.work()
        await library.say(1, remove=("all",))
        await library.say(2, add=("all",))
        async with library.database.transaction() as tx:
            first = await labels.list_names(tx, "tag", limit=3)
            second = await labels.list_names(tx, "tag", after=first.next or "", limit=3)
            found = await labels.list_names(tx, "tag", search="TAG3", limit=3)
        assert [(name.name, name.items) for name in first.names] == [("all", 3), ("tag1", 1), ("tag2", 1)]
        assert ([name.name for name in second.names], second.next) == (["tag3", "tag4"], None)
        assert [name.name for name in found.names] == ["tag3"]
