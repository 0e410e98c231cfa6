"""People group, move, rename and dissolve; what they did stays, whatever arrives later."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from group_stage import GroupStage
from missing import STREAM, Missing

from headgate.catalogue.files import remove_items
from headgate.catalogue.groups import editing
from headgate.catalogue.groups.details import show_group
from headgate.catalogue.labels import LabelChange
from headgate.domain.errors import NotFound, UserError
from headgate.ingest.shelf.refreshing import ShelfRefreshing
from headgate.storage.shelf.refresh import album_group_id
from headgate.testing import file_of


@pytest.fixture
def stage(missing: Missing) -> GroupStage:
    missing.kinds.add(ShelfRefreshing().kind())
    return GroupStage(missing)


class TestMaking:
    """A group is made of two or more items."""

    async def test_items_become_one_row_with_the_name_that_was_typed(self, stage: GroupStage) -> None:
        one, two, _ = await stage.items("one", "two", "three")
        group_id = await stage.create("  Both   of them ", one, two)
        assert await stage.shelf() == {"Both of them": ["one", "two"], "three": ["three"]}
        async with stage.missing.database.transaction() as tx:
            shown = await show_group(tx, group_id)
        assert (shown.kind, shown.name_by, [member.title for member in shown.members]) == (
            "hand",
            "person",
            ["one", "two"],
        )
        assert shown.reason.startswith("Made by hand ")
        assert shown.size_bytes == 200
        assert await stage.is_sound()

    async def test_one_item_is_no_group(self, stage: GroupStage) -> None:
        (one,) = await stage.items("one")
        with pytest.raises(UserError, match="two or more items"):
            await stage.create("Alone", one, one)

    @pytest.mark.parametrize("name", [" ", "", "x" * 201])
    async def test_a_group_needs_a_name_of_1_to_200_characters(self, stage: GroupStage, name: str) -> None:
        one, two = await stage.items("one", "two")
        with pytest.raises(UserError, match="1 to 200 characters"):
            await stage.create(name, one, two)
        group_id = await stage.create("Fine", one, two)
        with pytest.raises(UserError, match="1 to 200 characters"):
            await stage.rename(group_id, name)

    async def test_what_does_not_exist_cannot_be_grouped(self, stage: GroupStage) -> None:
        (one,) = await stage.items("one")
        with pytest.raises(NotFound):
            await stage.create("Pair", one, uuid4())
        with pytest.raises(NotFound):
            await stage.add(uuid4(), one)
        assert await stage.shelf() == {"one": ["one"]}

    async def test_a_group_may_span_channels(self, stage: GroupStage) -> None:
        one, two = await stage.items("one", "two")
        other = uuid4()
        await stage.ask(
            "insert into channel (id, platform, key, kind, title, created_at)"
            " values ($1, 'simulated', 'else', 'stream', 'Elsewhere', $2)",
            other,
            stage.now,
        )
        await stage.ask("update item set channel_id = $1 where id = $2", other, two)
        group_id = await stage.create("Across", one, two)
        async with stage.missing.database.transaction() as tx:
            assert (await show_group(tx, group_id)).channels == ("Elsewhere", STREAM)
        assert await stage.is_sound()

    async def test_groups_and_items_together_mean_all_members(self, stage: GroupStage) -> None:
        await stage.accept(*stage.album("a.zip", "b.zip", text="Album"))
        one, two, three = await stage.items("one", "two", "three")
        pair = await stage.create("Pair", one, two)
        album = await stage.group_of("a")
        assert album is not None
        await stage.create("Everything", pair, album, three)
        assert await stage.shelf() == {"Everything": ["a", "b", "one", "three", "two"]}
        assert await stage.is_sound()


class TestMoving:
    """Members that move leave their groups; emptied ones dissolve."""

    async def test_an_emptied_source_dissolves_and_others_keep_theirs(self, stage: GroupStage) -> None:
        one, two, three, four = await stage.items("one", "two", "three", "four")
        first, second = await stage.create("First", one, two), await stage.create("Second", three, four)
        moved = await stage.add(first, three)
        assert (moved.items, moved.dissolved) == (1, ())
        assert await stage.shelf() == {"First": ["one", "three", "two"], "Second": ["four"]}
        moved = await stage.add(first, four)
        assert (moved.items, moved.dissolved) == (1, (second,))
        assert await stage.shelf() == {"First": ["four", "one", "three", "two"]}
        assert (await stage.add(first, four)).items == 0

    async def test_merged_groups_have_the_name_of_the_first(self, stage: GroupStage) -> None:
        one, two, three, four = await stage.items("one", "two", "three", "four")
        first, second = await stage.create("First", one, two), await stage.create("Second", three, four)
        merged = await stage.merge(first, second)
        assert (merged.name, merged.items, merged.dissolved) == ("First", 2, (second,))
        assert await stage.shelf() == {"First": ["four", "one", "three", "two"]}
        with pytest.raises(UserError, match="two or more groups"):
            await stage.merge(first, first)
        with pytest.raises(UserError, match="two or more groups"):
            await stage.merge(first, one)
        assert await stage.is_sound()

    async def test_what_was_removed_from_a_group_is_on_its_own(self, stage: GroupStage) -> None:
        one, two, three = await stage.items("one", "two", "three")
        group_id = await stage.create("All", one, two, three)
        assert await stage.remove(group_id, one) == editing.Ungrouped(1, dissolved=False)
        assert await stage.remove(group_id, one) == editing.Ungrouped(0, dissolved=False)
        assert await stage.shelf() == {"All": ["three", "two"], "one": ["one"]}
        assert (await stage.remove(group_id, two, three)).dissolved
        assert await stage.shelf() == {"one": ["one"], "three": ["three"], "two": ["two"]}

    async def test_a_group_has_at_most_10_000_members(
        self, stage: GroupStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, two, three = await stage.items("one", "two", "three")
        group_id = await stage.create("Pair", one, two)
        monkeypatch.setattr(editing, "MAX_MEMBERS", 2)
        with pytest.raises(UserError, match="at most 2 members"):
            await stage.add(group_id, three)

    async def test_a_volume_that_became_part_of_a_set_leads_to_the_set(self, stage: GroupStage) -> None:
        (one,) = await stage.items("one")
        await stage.accept(stage.post("pack.part1.rar"))
        volume = await stage.item("pack")
        old = uuid4()
        await stage.ask("insert into item_alias (old_id, item_id) values ($1, $2)", old, volume)
        await stage.create("Both", one, old)
        assert await stage.shelf() == {"Both": ["one", "pack"]}


class TestDissolving:
    """A dissolved group can be restored, and otherwise stays dissolved."""

    async def test_a_restored_group_has_its_members_and_its_name(self, stage: GroupStage) -> None:
        one, two, three = await stage.items("one", "two", "three")
        group_id = await stage.create("All", one, two, three)
        assert (await stage.dissolve(group_id)).items == 3
        assert await stage.shelf() == {"one": ["one"], "three": ["three"], "two": ["two"]}
        assert (await stage.restore(group_id)).items == 3
        assert await stage.shelf() == {"All": ["one", "three", "two"]}
        assert await stage.is_sound()

    async def test_what_was_moved_since_stays_where_it_is(self, stage: GroupStage) -> None:
        one, two, three, four = await stage.items("one", "two", "three", "four")
        first = await stage.create("First", one, two, three)
        await stage.dissolve(first)
        await stage.create("Second", one, four)
        assert (await stage.restore(first)).items == 2
        assert await stage.shelf() == {"First": ["three", "two"], "Second": ["four", "one"]}

    async def test_a_group_of_which_nothing_is_left_is_not_restored(self, stage: GroupStage) -> None:
        one, two, three = await stage.items("one", "two", "three")
        first = await stage.create("First", one, two)
        await stage.dissolve(first)
        await stage.create("Second", one, two, three)
        with pytest.raises(UserError, match="left to restore"):
            await stage.restore(first)

    async def test_dissolving_or_restoring_twice_changes_nothing(self, stage: GroupStage) -> None:
        one, two = await stage.items("one", "two")
        group_id = await stage.create("Pair", one, two)
        assert (await stage.dissolve(group_id)) == (await stage.dissolve(group_id))
        await stage.restore(group_id)
        assert (await stage.restore(group_id)).items == 0
        assert await stage.shelf() == {"Pair": ["one", "two"]}

    async def test_a_dissolved_group_cannot_be_changed(self, stage: GroupStage) -> None:
        one, two, three = await stage.items("one", "two", "three")
        group_id = await stage.create("Pair", one, two)
        await stage.dissolve(group_id)
        for change in (
            stage.rename(group_id, "Other"),
            stage.add(group_id, three),
            stage.remove(group_id, one),
            stage.create("New", group_id, three),
        ):
            with pytest.raises(NotFound, match="was dissolved"):
                await change


class TestPeopleOutrankAutomation:
    """Rescans, edits and new members of an album change nothing that a person decided."""

    async def _album(self, stage: GroupStage) -> UUID:
        await stage.accept(*stage.album("a.zip", "b.zip", "c.zip", text="Album"))
        group_id = await stage.group_of("a")
        assert group_id is not None
        assert group_id == album_group_id((stage.missing.channel_id, "a1"))
        return group_id

    async def _read_all_again(self, stage: GroupStage) -> None:
        """Read every message once more, as a rescan does."""
        world = stage.missing.world
        stored = await stage.ask("select key from message order by position")
        await stage.accept(*(world.tell(world.row(STREAM, row["key"])) for row in stored))

    async def test_a_rescan_does_not_undo_what_a_person_took_apart(self, stage: GroupStage) -> None:
        group_id = await self._album(stage)
        await stage.remove(group_id, await stage.item("a"))
        apart = {"a": ["a"], "Album": ["b", "c"]}
        assert await stage.shelf() == apart
        await self._read_all_again(stage)
        assert await stage.shelf() == apart
        assert await stage.is_sound()

    async def test_a_dissolved_album_stays_dissolved_when_members_arrive(self, stage: GroupStage) -> None:
        group_id = await self._album(stage)
        await stage.dissolve(group_id)
        await self._read_all_again(stage)
        await stage.accept(stage.post("d.zip", album="a1"), stage.post("e.zip", album="a1"))
        assert await stage.shelf() == {name: [name] for name in "abcde"}
        assert await stage.is_sound()

    async def test_a_restored_album_takes_in_what_arrived_meanwhile(self, stage: GroupStage) -> None:
        group_id = await self._album(stage)
        await stage.dissolve(group_id)
        await stage.accept(stage.post("d.zip", album="a1"))
        await stage.restore(group_id)
        assert await stage.shelf() == {"Album": ["a", "b", "c", "d"]}
        assert await stage.is_sound()

    async def test_new_members_of_an_album_keep_a_persons_name(self, stage: GroupStage) -> None:
        group_id = await self._album(stage)
        await stage.rename(group_id, "Mine")
        first = (await stage.ask("select key from message order by position"))[0]["key"]
        stage.missing.clock.advance(1)
        stage.missing.world.edit(
            STREAM, first, text="Edited", files=[file_of("a.zip", b"a.zip".ljust(100, b"."))]
        )
        await self._read_all_again(stage)
        await stage.accept(stage.post("d.zip", album="a1"))
        assert await stage.shelf() == {"Mine": ["a", "b", "c", "d"]}

    async def test_what_a_person_moved_does_not_return_to_its_album(self, stage: GroupStage) -> None:
        await self._album(stage)
        (one,) = await stage.items("one")
        mine = await stage.create("Mine", await stage.item("a"), one)
        await self._read_all_again(stage)
        assert await stage.shelf() == {"Album": ["b", "c"], "Mine": ["a", "one"]}
        await stage.dissolve(mine)
        await self._read_all_again(stage)
        assert await stage.shelf() == {"a": ["a"], "Album": ["b", "c"], "one": ["one"]}

    async def test_what_a_person_puts_back_is_a_member_again(self, stage: GroupStage) -> None:
        group_id = await self._album(stage)
        item = await stage.item("a")
        await stage.remove(group_id, item)
        await stage.add(group_id, item)
        await self._read_all_again(stage)
        assert await stage.shelf() == {"Album": ["a", "b", "c"]}
        assert await stage.ask("select * from group_exclusion") == []

    async def test_a_set_is_in_the_album_of_its_volumes(self, stage: GroupStage) -> None:
        volumes = [f"pack.part{n}.rar" for n in range(1, 13)]
        await stage.accept(*stage.album("cover.zip", *volumes[:9], key="first", text="Whole"))
        await stage.accept(*stage.album(*volumes[9:], key="second"))
        assert await stage.shelf() == {"Whole": ["cover", "pack"]}
        assert await stage.is_sound()

    async def test_a_removed_item_leaves_its_group_to_the_others(self, stage: GroupStage) -> None:
        one, two, three = await stage.items("one", "two", "three")
        group_id = await stage.create("All", one, two, three)
        async with stage.missing.database.transaction() as tx:
            await remove_items(tx, [one], now=stage.now)
        assert await stage.shelf() == {"All": ["three", "two"]}
        other = await stage.create("Other", two, three)
        assert await stage.shelf() == {"Other": ["three", "two"]}
        (old,) = await stage.ask("select dissolved_at from item_group where id = $1", group_id)
        assert old["dissolved_at"] is not None
        assert other != group_id


class TestTags:
    """A tag of a group is a tag of each member."""

    async def test_a_tag_is_added_to_and_removed_from_all_members(self, stage: GroupStage) -> None:
        one, two, three = await stage.items("one", "two", "three")
        group_id = await stage.create("Pair", one, two)
        async with stage.missing.database.transaction() as tx:
            change = LabelChange(creator="Ada", add=("Terrain", "Dungeon"))
            assert await editing.label_things(tx, [group_id, three], change, now=stage.now) == 3
        async with stage.missing.database.transaction() as tx:
            await editing.label_things(tx, [group_id], LabelChange(remove=("terrain",)), now=stage.now)
        async with stage.missing.database.transaction() as tx:
            shown = await show_group(tx, group_id)
        assert (shown.tags, shown.creators) == (("Dungeon",), ("Ada",))
        rows = await stage.ask("select name, tags from shelf order by name")
        assert rows == [
            {"name": "Pair", "tags": ["Dungeon"]},
            {"name": "three", "tags": ["Dungeon", "Terrain"]},
        ]
