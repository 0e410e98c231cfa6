"""Several people change the same groups at the same moment, while members arrive: nobody gets an error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from uuid import UUID

import pytest
from group_stage import GroupStage
from missing import Missing

from headgate.catalogue.groups import editing
from headgate.catalogue.groups.details import show_group
from headgate.catalogue.labels import LabelChange, change_labels
from headgate.domain.errors import UserError
from headgate.ingest.shelf.refreshing import ShelfRefreshing

ROUNDS = 12


@pytest.fixture
def stage(missing: Missing) -> GroupStage:
    missing.kinds.add(ShelfRefreshing().kind())
    return GroupStage(missing)


async def together(*acts: Awaitable[object]) -> list[UserError]:
    """Do everything at once; returns what people were told, and raises anything else."""
    ended = await asyncio.gather(*acts, return_exceptions=True)
    refused = [end for end in ended if isinstance(end, UserError)]
    broken = [end for end in ended if isinstance(end, BaseException) and not isinstance(end, UserError)]
    if broken:
        raise broken[0]
    return refused


async def check_truth(stage: GroupStage) -> None:
    """No item is in a dissolved group, no open group is empty, and the shelf says what is there."""
    await stage.missing.work()
    in_dissolved = (
        "select 1 from item i join item_group g on g.id = i.group_id where g.dissolved_at is not null"
    )
    assert await stage.ask(in_dissolved) == []
    empty = (
        "select 1 from item_group g"
        " where dissolved_at is null and not exists (select from item where group_id = g.id)"
    )
    assert await stage.ask(empty) == []
    assert await stage.is_sound()


async def test_a_member_that_arrives_while_its_album_is_restored_joins_it(stage: GroupStage) -> None:
    await stage.accept(*stage.album("one.zip", "two.zip"))
    album = await stage.group_of("one")
    assert album is not None
    await stage.dissolve(album)
    async with stage.missing.database.transaction() as tx:
        await editing.restore_group(tx, album, now=stage.now)
        arriving = asyncio.create_task(stage.missing.accept(stage.post("three.zip", album="a1")))
        await stage.wait_for_lock()
    await arriving
    await check_truth(stage)
    assert await stage.group_of("three") == album


async def test_two_who_rename_a_group_at_once_both_see_one_name(stage: GroupStage) -> None:
    one, two = await stage.items("one", "two")
    group_id = await stage.create("Pair", one, two)
    for round_ in range(ROUNDS):
        assert await together(*(stage.rename(group_id, f"{who} {round_}") for who in "AB")) == []
        async with stage.missing.database.transaction() as tx:
            name = (await show_group(tx, group_id)).name
        assert await stage.shelf() == {name: ["one", "two"]}


async def test_dissolving_adding_and_a_new_album_member_at_once_end_in_one_truth(stage: GroupStage) -> None:
    for round_ in range(ROUNDS):
        await stage.accept(*stage.album(f"a{round_}.zip", f"b{round_}.zip", key=f"album {round_}"))
        (lone,) = await stage.items(f"lone {round_}")
        album = await stage.group_of(f"a{round_}")
        assert album is not None
        await together(
            stage.dissolve(album),
            stage.add(album, lone),
            stage.missing.accept(stage.post(f"c{round_}.zip", album=f"album {round_}")),
        )
    await check_truth(stage)


async def test_two_who_merge_each_others_groups_never_wait_in_a_circle(stage: GroupStage) -> None:
    names = [f"{n}" for n in range(8)]
    ids = await stage.items(*names)
    for round_ in range(ROUNDS):
        first = await stage.create(f"First {round_}", *ids[:4])
        second = await stage.create(f"Second {round_}", *ids[4:])
        refused = await together(stage.merge(first, second), stage.merge(second, first))
        assert len(refused) == 1
        assert len(await stage.shelf()) == 1
    await check_truth(stage)


async def test_people_who_label_and_move_members_of_one_album_never_wait_in_a_circle(
    stage: GroupStage,
) -> None:
    await stage.accept(*stage.album(*(f"{n}.zip" for n in range(6))))
    items = [await stage.item(f"{n}") for n in range(6)]

    async def label(item_id: UUID, tag: str) -> None:
        async with stage.missing.database.transaction() as tx:
            await change_labels(tx, [item_id], LabelChange(add=(tag,)), now=stage.now)

    album = await stage.group_of("0")
    assert album is not None
    for round_ in range(ROUNDS):
        await together(
            *(label(item, f"tag {round_}") for item in items),
            *(stage.remove(album, item) for item in items[:3]),
            *(stage.add(album, item) for item in items[:3]),
        )
    await check_truth(stage)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_people_and_channels_do_at_once_nobody_gets_an_error(
    stage: GroupStage, seed: int
) -> None:
    chance = Random(seed)
    items = await stage.items(*(f"item {n}" for n in range(8)))
    for key in range(3):
        await stage.accept(*stage.album(f"{key}-0.zip", f"{key}-1.zip", key=str(key)))

    async def known_groups() -> list[UUID]:
        return [row["id"] for row in await stage.ask("select id from item_group order by id")]

    def acts(groups: list[UUID], round_: int) -> list[Callable[[], Awaitable[object]]]:
        def pick() -> UUID:
            return chance.choice(groups)

        everything = [*items, *groups]
        return [
            lambda: stage.create(f"New {round_}", *chance.sample(everything, 3)),
            lambda: stage.add(pick(), *chance.sample(everything, 2)),
            lambda: stage.remove(pick(), *chance.sample(items, 2)),
            lambda: stage.merge(pick(), pick()),
            lambda: stage.dissolve(pick()),
            lambda: stage.restore(pick()),
            lambda: stage.rename(pick(), f"Name {round_}"),
        ]

    for round_ in range(ROUNDS):
        groups = await known_groups()
        items = [row["id"] for row in await stage.ask("select id from item order by id")]
        chosen = [chance.choice(acts(groups, round_))() for _ in range(6)]
        message = stage.post(f"late {round_}.zip", album=str(chance.randrange(3)))
        await together(*chosen, stage.missing.accept(message))
        if round_ % 8 == 0:
            await check_truth(stage)
    await check_truth(stage)
