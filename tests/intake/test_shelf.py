"""The shelf shows every item once, alone, with its copies or in its group, and follows every change."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any
from uuid import UUID

import pytest
from missing import STREAM, Missing

from headgate.catalogue.files import remove_items
from headgate.catalogue.labels import LabelChange, change_labels, rename
from headgate.domain.streams.messages import Message
from headgate.ingest.shelf.refreshing import ShelfRefreshing
from headgate.intake.channels.judging import Judge
from headgate.intake.channels.requests import remove_channel
from headgate.intake.channels.settings import SettingsLayer, change_settings
from headgate.storage.channels.judging import show_items
from headgate.storage.shelf.refresh import LARGE_GROUP
from headgate.storage.shelf.touched import touch_items
from headgate.storage.shelf.verify import verify_shelf
from headgate.testing import file_of


@pytest.fixture(autouse=True)
def _shelf_job(missing: Missing) -> None:
    missing.kinds.add(ShelfRefreshing().kind())


def post(missing: Missing, name: str, size: int = 100, *, seed: str = "", **more: Any) -> Message:
    file = file_of(name, f"{seed}{name}".encode().ljust(size, b"."))
    return missing.world.post(STREAM, files=[file], **more)


def album(missing: Missing, *names: str, key: str = "a1", text: str = "") -> list[Message]:
    said = [text, *[""] * (len(names) - 1)]
    return [post(missing, name, album=key, text=words) for name, words in zip(names, said, strict=True)]


async def ask(missing: Missing, sql: str, *arguments: Any) -> list[dict[str, Any]]:
    async with missing.database.transaction() as tx:
        return await tx.raw(sql, arguments)


async def shelf(missing: Missing) -> list[dict[str, Any]]:
    return await ask(missing, "select * from shelf order by name_key, id")


async def names(missing: Missing) -> list[str]:
    return [row["name"] for row in await shelf(missing)]


async def get_item_id(missing: Missing, title: str) -> UUID:
    (row,) = await ask(missing, "select id from item where title = $1", title)
    return row["id"]


async def take_in(missing: Missing, *messages: Message) -> None:
    await missing.accept(*messages)
    await missing.work()


async def is_sound(missing: Missing) -> bool:
    return [found async for found in verify_shelf(missing.database, repair=False)][-1].sound


class TestLoneItems:
    """One row for each item that is in no group."""

    async def test_an_item_is_on_the_shelf_in_the_transaction_that_makes_it(self, missing: Missing) -> None:
        await missing.accept(post(missing, "Étoile_noire.zip", 300))
        (row,) = await shelf(missing)
        assert (row["name"], row["name_key"], row["kind"], row["type"]) == (
            "Étoile noire",
            "etoile noire",
            "package",
            "zip",
        )
        assert (row["size_bytes"], row["member_count"], row["file_count"]) == (300, 1, 1)
        assert (row["group_id"], row["state"], row["problem"]) == (None, "waiting", False)
        assert row["channel_ids"] == [missing.channel_id]
        assert row["sort_at"] == row["oldest_at"]

    async def test_rows_of_new_items_are_what_their_sources_say(self, missing: Missing) -> None:
        await missing.accept(
            post(missing, "plain.zip"),
            post(missing, "clip.mp4", topic="clips"),
            post(missing, "twice.zip", topic="one"),
            post(missing, "twice.zip", topic="two"),
            post(missing, "Photo.jpg", topic="clips", text="#tagged by Mara"),
        )
        assert await is_sound(missing)
        facets = {row["name"]: len(row["dated_facets"]) for row in await shelf(missing)}
        assert facets == {"plain": 1, "clip": 2, "twice": 3, "Photo": 2}

    async def test_reading_a_message_again_writes_no_row(self, missing: Missing) -> None:
        message = post(missing, "one.zip")
        await take_in(missing, message)
        before = await ask(missing, "select xmin::text from shelf")
        await take_in(missing, message)
        assert await ask(missing, "select xmin::text from shelf") == before

    async def test_what_settings_hide_is_off_the_shelf_and_comes_back(self, missing: Missing) -> None:
        missing.kinds.add(Judge(missing.rules, missing.clock, lambda _: ["everything"]).kind())
        await take_in(missing, post(missing, "small.zip", 50), post(missing, "large.zip", 5000))
        for min_bytes, shown in ((1000, ["large"]), (0, ["large", "small"])):
            async with missing.database.transaction() as tx:
                layer = SettingsLayer(channel_id=missing.channel_id)
                await change_settings(tx, layer, {"min_size_bytes": min_bytes}, now=missing.clock.now())
            await missing.work()
            assert await names(missing) == shown
        assert await is_sound(missing)

    async def test_a_row_goes_in_the_transaction_that_hides_its_item(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "one.zip"))
        await ask(missing, "update sighting set verdict = 'too_large'")
        async with missing.database.transaction() as tx:
            await show_items(tx, [await get_item_id(missing, "one")])
        assert await shelf(missing) == []

    async def test_what_is_removed_for_ever_is_off_the_shelf(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "one.zip"), post(missing, "two.zip"))
        one = await get_item_id(missing, "one")
        async with missing.database.transaction() as tx:
            await remove_items(tx, [one], now=missing.clock.now())
        assert await names(missing) == ["two"]

    async def test_a_removed_channel_leaves_nothing_on_the_shelf(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "one.zip"), *album(missing, "two.zip", "three.zip"))
        async with missing.database.transaction() as tx:
            await remove_channel(tx, missing.channel_id, now=missing.clock.now())
        assert await shelf(missing) == []
        assert await ask(missing, "select * from shelf_facet") == []
        assert await is_sound(missing)

    async def test_labels_are_on_the_row_and_a_renamed_one_follows(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "one.zip"))
        one = await get_item_id(missing, "one")
        async with missing.database.transaction() as tx:
            change = LabelChange(creator="Ada", add=("Terrain", "Dungeon"))
            await change_labels(tx, [one], change, now=missing.clock.now())
        (row,) = await shelf(missing)
        assert (row["creators"], row["tags"]) == (["Ada"], ["Dungeon", "Terrain"])
        async with missing.database.transaction() as tx:
            await rename(tx, "tag", "Terrain", to="Scenery")
        await missing.work()
        (row,) = await shelf(missing)
        assert row["tags"] == ["Dungeon", "Scenery"]
        assert await is_sound(missing)


class TestAlbums:
    """What was posted as one is one row, however it arrives."""

    async def test_files_of_an_album_are_one_row_named_by_the_caption(self, missing: Missing) -> None:
        await take_in(missing, *album(missing, "a.zip", "b.rar", text="Colossal Dungeon\nsix files"))
        (row,) = await shelf(missing)
        assert (row["name"], row["member_count"], row["size_bytes"]) == ("Colossal Dungeon", 2, 200)
        assert (row["kind"], row["type"]) == ("package", "mixed")

    async def test_without_a_caption_an_album_is_named_by_its_first_file(self, missing: Missing) -> None:
        await take_in(missing, *album(missing, "Castle_Gate.zip", "walls.zip"))
        assert await names(missing) == ["Castle Gate"]

    async def test_an_album_split_over_two_scans_is_one_group(self, missing: Missing) -> None:
        first, second, third = album(missing, "a.zip", "b.zip", "c.zip", text="Whole")
        await take_in(missing, third)
        assert await names(missing) == ["c"]
        await take_in(missing, second)
        (row,) = await shelf(missing)
        assert (row["name"], row["member_count"]) == ("b", 2)
        await take_in(missing, first)
        (row,) = await shelf(missing)
        assert (row["name"], row["member_count"]) == ("Whole", 3)
        assert await is_sound(missing)

    async def test_albums_of_the_same_name_in_two_channels_stay_apart(self, missing: Missing) -> None:
        await take_in(missing, *album(missing, "a.zip", "b.zip", key="1"))
        await take_in(missing, *album(missing, "c.zip", "d.zip", key="2"))
        assert [row["member_count"] for row in await shelf(missing)] == [2, 2]

    async def test_the_name_follows_an_edited_caption(self, missing: Missing) -> None:
        first, second = album(missing, "a.zip", "b.zip", text="Draft")
        await take_in(missing, first, second)
        missing.clock.advance(1)
        missing.world.edit(
            STREAM, first.key, text="Final", files=[file_of("a.zip", b"a.zip".ljust(100, b"."))]
        )
        await take_in(missing, missing.world.tell(missing.world.row(STREAM, first.key)))
        assert await names(missing) == ["Final"]

    async def test_a_group_is_as_new_as_its_newest_member(self, missing: Missing) -> None:
        (first,) = album(missing, "a.zip")
        missing.clock.advance(60)
        (second,) = album(missing, "b.zip")
        await take_in(missing, first, second)
        assert first.sent_at < second.sent_at
        (row,) = await shelf(missing)
        assert row["oldest_at"] == min(first.sent_at, second.sent_at)
        assert row["sort_at"] == max(first.sent_at, second.sent_at)

    async def test_a_large_album_is_written_by_a_job(self, missing: Missing) -> None:
        messages = album(missing, *(f"{n}.zip" for n in range(LARGE_GROUP + 5)))
        await missing.accept(*messages[: LARGE_GROUP - 1])
        await missing.accept(*messages[LARGE_GROUP - 1 :])
        (row,) = await shelf(missing)
        assert row["member_count"] == LARGE_GROUP - 1
        await missing.work()
        (row,) = await shelf(missing)
        assert row["member_count"] == LARGE_GROUP + 5


class TestCopies:
    """The same content in several places is one row; the items stay apart."""

    async def _store(self, missing: Missing, *titles: str, content: str = "x") -> None:
        """Let items have the same stored content, as fetching and inspecting leave it."""
        for title in titles:
            await ask(
                missing,
                """
                with b as (
                    insert into blob (id, sha256, size_bytes, object_name, created_at)
                    values (md5($2)::uuid, sha256($2::bytea), 1, $2, $3)
                    on conflict (id) do update set size_bytes = 1 returning id
                ), f as (
                    insert into item_file (sighting_id, channel_id, state, blob_id)
                    select s.id, s.channel_id, 'stored', b.id
                    from sighting s join item i on i.id = s.item_id cross join b where i.title = $1
                    on conflict (sighting_id) do update set state = 'stored', blob_id = excluded.blob_id
                )
                insert into inspection (item_id, state, volumes)
                select i.id, 'plain', array[b.id] from item i cross join b where i.title = $1
                """,
                title,
                content,
                missing.clock.now(),
            )
            async with missing.database.transaction() as tx:
                touch_items(tx, [await get_item_id(missing, title)])

    async def test_copies_are_one_row_of_the_first(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "first.zip"))
        missing.clock.advance(60)
        await take_in(missing, post(missing, "second.zip"), post(missing, "other.zip"))
        await self._store(missing, "second", "first")
        assert await names(missing) == ["first", "other"]
        first, _ = await shelf(missing)
        assert (first["member_count"], first["content_count"], first["size_bytes"]) == (2, 1, 100)
        assert (first["id"], first["state"]) == (await get_item_id(missing, "first"), "stored")
        assert await is_sound(missing)

    async def test_removing_one_copy_leaves_the_others_as_they_were(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "first.zip"))
        missing.clock.advance(60)
        await take_in(missing, post(missing, "second.zip"))
        await self._store(missing, "first", "second")
        first = await get_item_id(missing, "first")
        async with missing.database.transaction() as tx:
            await remove_items(tx, [first], now=missing.clock.now())
        (row,) = await shelf(missing)
        assert (row["name"], row["member_count"]) == ("second", 1)
        assert await is_sound(missing)

    async def test_two_who_store_the_same_content_at_once_lose_no_copy(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "first.zip"), post(missing, "second.zip"))
        await self._store(missing, "first", "second")
        await ask(missing, "update item set content_hash = null")
        await ask(missing, "truncate shelf, shelf_facet")
        ids = [await get_item_id(missing, title) for title in ("first", "second")]

        async def touch(item_id: UUID) -> None:
            async with missing.database.transaction() as tx:
                touch_items(tx, [item_id])

        for _ in range(20):
            await asyncio.gather(*(touch(item_id) for item_id in ids))
            (row,) = await shelf(missing)
            assert row["member_count"] == 2
            await ask(missing, "update item set content_hash = null")
            await ask(missing, "truncate shelf, shelf_facet")


class TestVerifying:
    """The whole shelf can be computed anew."""

    async def test_what_is_wrong_is_found_and_repaired(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "one.zip"), post(missing, "two.zip"))
        await take_in(missing, *album(missing, "three.zip", "four.zip"))
        whole = await shelf(missing)
        await ask(missing, "update shelf set size_bytes = 7 where name = 'one'")
        await ask(missing, "delete from shelf where name = 'two'")
        await ask(missing, "delete from shelf_facet using shelf where shelf_id = id and name = 'three'")
        assert not await is_sound(missing)
        found = [found async for found in verify_shelf(missing.database, repair=True)][-1]
        assert (found.wrong_rows, found.wrong_facets > 0) == (2, True)
        assert await shelf(missing) == whole
        assert await is_sound(missing)

    async def test_lists_with_wrong_names_are_found_and_repaired(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "one.zip"))
        await ask(missing, "update shelf_facet set name_key = 'two'")
        assert not await is_sound(missing)
        assert [found async for found in verify_shelf(missing.database, repair=True)][-1].wrong_facets == 1
        assert await is_sound(missing)

    async def test_only_looking_changes_nothing(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "one.zip"))
        await ask(missing, "delete from shelf")
        assert not await is_sound(missing)
        assert await shelf(missing) == []

    async def test_whatever_happens_the_shelf_is_what_its_sources_say(self, missing: Missing) -> None:
        chance = Random(7)
        for round_ in range(12):
            key = str(chance.randrange(4))
            messages = album(missing, *(f"r{round_}-{n}.zip" for n in range(chance.randrange(1, 4))), key=key)
            messages += [post(missing, f"pack{chance.randrange(2)}.part{chance.randrange(1, 4)}.rar")]
            chance.shuffle(messages)
            await take_in(missing, *messages)
            rows = await ask(missing, "select id from item where not hidden order by id")
            if chance.random() < 0.4 and rows:
                async with missing.database.transaction() as tx:
                    await remove_items(tx, [chance.choice(rows)["id"]], now=missing.clock.now())
            missing.clock.advance(60)
        await missing.work()
        assert await is_sound(missing)
        shown = await ask(missing, "select count(*) as n from item where not hidden")
        members = await ask(missing, "select sum(member_count) as n from shelf")
        assert members[0]["n"] == shown[0]["n"] > 10
