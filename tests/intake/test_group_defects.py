"""Defects that grouping could easily have, each with the rule that replaces it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from group_stage import GroupStage
from missing import Missing

from headgate.catalogue.groups import covers, editing
from headgate.catalogue.groups.details import show_group
from headgate.catalogue.labels import LabelChange, change_labels
from headgate.domain.errors import UserError
from headgate.ingest.shelf.refreshing import ShelfRefreshing
from headgate.storage.library.pictures import NewPicture, replace_pictures


@pytest.fixture
def stage(missing: Missing) -> GroupStage:
    missing.kinds.add(ShelfRefreshing().kind())
    return GroupStage(missing)


async def add_picture(stage: GroupStage, item_id: UUID, seed: str) -> None:
    """Give an item a picture, as inspecting does."""
    blob_id = uuid4()
    await stage.ask(
        "insert into blob (id, sha256, size_bytes, object_name, created_at)"
        " values ($1, sha256($2::text::bytea), 1, $2::text, $3)",
        blob_id,
        seed,
        stage.now,
    )
    inspected = "insert into inspection (item_id, state) values ($1, 'plain') on conflict do nothing"
    await stage.ask(inspected, item_id)
    async with stage.missing.database.transaction() as tx:
        picture = NewPicture(320, 160, "image/webp", blob_id)
        await replace_pictures(tx, item_id, [picture], key=seed, source="album_photo", colour="#000000")
    await stage.missing.work()


async def cover_of(stage: GroupStage, group_id: UUID) -> tuple[str, list[str]]:
    async with stage.missing.database.transaction() as tx:
        shown = await show_group(tx, group_id)
    return shown.cover_by, [size.url for size in shown.cover]


async def test_the_same_album_and_message_keys_in_two_channels_are_two_groups(stage: GroupStage) -> None:
    missing, other = stage.missing, uuid4()
    await stage.ask(
        "insert into channel (id, platform, key, kind, title, created_at)"
        " values ($1, 'simulated', 'else', 'stream', 'Elsewhere', $2)",
        other,
        stage.now,
    )
    await stage.ask("insert into stream (channel_id, reader_id) select $1, id from account", other)
    messages = stage.album("a.zip", "b.zip", key="7", text="Album")
    for channel_id in (missing.channel_id, other):
        await replace(missing, channel_id=channel_id).accept(*messages)
    rows = await stage.ask("select member_count, channel_ids from shelf order by channel_ids = $1", [other])
    assert rows == [
        {"member_count": 2, "channel_ids": [missing.channel_id]},
        {"member_count": 2, "channel_ids": [other]},
    ]


async def test_two_who_read_parts_of_one_album_at_once_make_one_group(stage: GroupStage) -> None:
    for round_ in range(10):
        messages = stage.album(*(f"{round_}-{n}.zip" for n in range(4)), key=f"album {round_}")
        await asyncio.gather(stage.missing.accept(*messages[:2]), stage.missing.accept(*messages[2:]))
        (row,) = await stage.ask("select member_count from shelf where name = $1", f"{round_}-0")
        assert row["member_count"] == 4
    (counted,) = await stage.ask("select count(*) as groups from item_group")
    assert counted["groups"] == 10


async def test_who_joins_while_a_group_is_dissolved_is_on_its_own_too(stage: GroupStage) -> None:
    one, two, three = await stage.items("one", "two", "three")
    group_id = await stage.create("Group", one, two)
    async with stage.missing.database.transaction() as tx:
        await editing.add_to_group(tx, group_id, [three], now=stage.now)
        dissolving = asyncio.create_task(stage.dissolve(group_id))
        await stage.missing.wait_for_waiting(1)
    assert (await dissolving).items == 3
    assert await stage.shelf() == {"one": ["one"], "three": ["three"], "two": ["two"]}
    assert await stage.is_sound()


async def test_an_album_member_that_arrives_while_its_group_is_dissolved_is_on_its_own(
    stage: GroupStage,
) -> None:
    await stage.accept(*stage.album("a.zip", "b.zip", text="Album"))
    album = await stage.group_of("a")
    assert album is not None
    async with stage.missing.database.transaction() as tx:
        await editing.dissolve_group(tx, album, now=stage.now)
        arriving = asyncio.create_task(stage.missing.accept(stage.post("c.zip", album="a1")))
        await stage.missing.wait_for_waiting(1)
    await arriving
    assert await stage.shelf() == {"a": ["a"], "b": ["b"], "c": ["c"]}
    assert await stage.is_sound()


async def test_nobody_waits_for_an_item_that_may_join_an_album(stage: GroupStage) -> None:
    first, second = stage.album("a.zip", "b.zip", text="Album")
    await stage.accept(first)
    a, (lone,) = await stage.item("a"), await stage.items("lone")
    group_id = await stage.create("Mine", a, lone)
    await stage.accept(second)
    b = await stage.item("b")
    async with stage.missing.database.transaction() as tx:
        await change_labels(tx, [b], LabelChange(add=("busy",)), now=stage.now)
        async with asyncio.timeout(20):
            await stage.remove(group_id, a)
    await stage.missing.work()
    assert await stage.shelf() == {"Album": ["a", "b"], "Mine": ["lone"]}
    assert await stage.is_sound()


async def test_what_is_shown_as_one_row_is_grouped_as_one(stage: GroupStage) -> None:
    one, two, three = await stage.items("one", "two", "three")
    # Copies, as far as grouping can tell.
    await stage.ask("update item set content_hash = sha256('same') where id = any($1)", [one, two])
    group_id = await stage.create("Group", one, three)
    async with stage.missing.database.transaction() as tx:
        assert {member.id for member in (await show_group(tx, group_id)).members} == {one, two, three}


async def test_a_cover_that_a_person_picked_stays_when_the_member_gets_another_or_leaves(
    stage: GroupStage,
) -> None:
    one, two = await stage.items("one", "two")
    group_id = await stage.create("Pair", one, two)
    await add_picture(stage, one, "first")
    await add_picture(stage, two, "second")
    by, automatic = await cover_of(stage, group_id)
    assert by == "automatic"
    async with stage.missing.database.transaction() as tx:
        await covers.pick_cover(tx, group_id, two)
    by, picked = await cover_of(stage, group_id)
    assert (by, picked != automatic) == ("person", True)
    await add_picture(stage, two, "third")
    await stage.remove(group_id, two)
    assert await cover_of(stage, group_id) == ("person", picked)
    async with stage.missing.database.transaction() as tx:
        assert await covers.reset_cover(tx, group_id)
    assert await cover_of(stage, group_id) == ("automatic", automatic)


async def test_the_cover_is_of_a_member(stage: GroupStage) -> None:
    one, two, three = await stage.items("one", "two", "three")
    group_id = await stage.create("Pair", one, two)
    await add_picture(stage, three, "elsewhere")
    async with stage.missing.database.transaction() as tx:
        with pytest.raises(UserError, match="not in the group"):
            await covers.pick_cover(tx, group_id, three)


async def test_the_cover_of_an_album_is_its_photo_before_the_picture_of_a_package(stage: GroupStage) -> None:
    await stage.accept(*stage.album("pack.zip", "photo.jpg", text="Album"))
    pack, photo = await stage.item("pack"), await stage.item("photo")
    album = await stage.group_of("pack")
    assert album is not None
    await add_picture(stage, pack, "drawn")
    first = await cover_of(stage, album)
    await add_picture(stage, photo, "photo")
    assert (await stage.ask("select cover_item_id from shelf"))[0]["cover_item_id"] == photo
    assert await cover_of(stage, album) != first
    assert await stage.is_sound()
