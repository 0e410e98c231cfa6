"""Pages of the library: every filter and sort against a plain model, and nothing twice while items arrive."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest
from shelf_stage import (
    CHANNELS,
    START,
    ShelfStage,
    StagedItem,
    random_filters,
    random_item,
)

from headgate.catalogue.shelf import listing
from headgate.catalogue.shelf.listing import ShelfPage, count_before, count_shelf, list_shelf
from headgate.domain.library.facets import FacetKind, facet_number
from headgate.domain.library.shelf_filters import (
    SORTS,
    ShelfFilters,
    ShelfSort,
    ShelfView,
    TopicName,
)
from headgate.storage.database import Database
from headgate.storage.shelf.rows import ShelfCursor


@pytest.fixture
async def stage(database: Database) -> ShelfStage:
    made = ShelfStage(database)
    await made.open()
    return made


async def page_of(stage: ShelfStage, view: ShelfView, *, limit: int = 3, **place: Any) -> ShelfPage:
    async with stage.database.transaction() as tx:
        return await list_shelf(tx, view, limit=limit, **place)


async def read_all(stage: ShelfStage, view: ShelfView, *, limit: int = 3) -> list[UUID]:
    """Read page after page, to the end."""
    found: list[UUID] = []
    after: ShelfCursor | None = None
    while True:
        page = await page_of(stage, view, after=after, limit=limit)
        found += [row.id for row in page.rows]
        if page.next is None:
            return found
        after = page.next


async def fill(stage: ShelfStage, choose: Random, *, count: int = 24) -> None:
    groups = [await stage.add_group(name) for name in ("Zoo", "album 7", "knight")]
    await stage.add(*(random_item(choose, groups) for _ in range(count)))


@pytest.mark.parametrize("seed", range(12))
async def test_filters_and_sorts_show_what_a_plain_model_shows(stage: ShelfStage, seed: int) -> None:
    choose = Random(seed)
    await fill(stage, choose)
    for fields in (0, 1, 1, 1, 2, 2, 2, 3, 3, 4):
        view = ShelfView(random_filters(choose, fields=fields), choose.choice(SORTS))
        assert await read_all(stage, view) == stage.expected(view), view
        async with stage.database.transaction() as tx:
            count = await count_shelf(tx, view.filters)
        assert (count.rows, count.more) == (len(stage.expected(view)), False), view


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "limits",
    [
        # A walk of one row never suffices, so everything is found by facets, dates or sizes, and sorted.
        {"MAX_WALK": 1},
        {"MAX_WALK": 1, "MAX_SPARE": 1},
        # Walks of several stretches, which are given up or not.
        {"MAX_WALK": 12, "FIRST_WALK": 3},
        {"MAX_WALK": 500, "FIRST_WALK": 2},
    ],
    ids=["sorted", "sorted bit by bit", "some rows", "stretches"],
)
async def test_every_way_to_find_rows_finds_the_same(
    stage: ShelfStage, seed: int, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, rows in limits.items():
        monkeypatch.setattr(listing, name, rows)
    choose = Random(100 + seed)
    await fill(stage, choose)
    for fields in (1, 1, 2, 2, 3, 4):
        view = ShelfView(random_filters(choose, fields=fields), choose.choice(SORTS))
        assert await read_all(stage, view) == stage.expected(view), view


async def test_rows_of_a_channel_are_sorted_by_what_they_are_called_now(
    stage: ShelfStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lists by facet have names and sizes of their own, and no walk finds the rows in another way."""
    monkeypatch.setattr(listing, "MAX_WALK", 1)
    items = [StagedItem(title=title, size_bytes=10 + n) for n, title in enumerate(("a", "b", "c", "d"))]
    await stage.add(*items)
    await stage.retitle(items[0], title="z", size_bytes=5)
    await stage.retitle(items[3], title="0", size_bytes=500)
    for sort in SORTS:
        view = ShelfView(ShelfFilters(channels=CHANNELS[:1]), sort)
        assert await read_all(stage, view) == stage.expected(view), sort


@pytest.mark.parametrize("sort", SORTS)
async def test_pages_lead_back_the_way_they_came(stage: ShelfStage, sort: ShelfSort) -> None:
    await fill(stage, Random(7), count=60)
    for filters in (ShelfFilters(), ShelfFilters(channels=CHANNELS[:1]), ShelfFilters(types=("zip",))):
        view = ShelfView(filters, sort)
        expected = stage.expected(view)
        first = await page_of(stage, view)
        assert first.previous is None
        second = await page_of(stage, view, after=first.next)
        back = await page_of(stage, view, before=second.previous)
        assert [row.id for row in back.rows] == expected[:3]
        assert back.previous is None
        third = await page_of(stage, view, after=second.next)
        back = await page_of(stage, view, before=third.previous)
        assert [row.id for row in back.rows] == expected[3:6]
        assert back.previous is not None


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("filtered", [False, True])
async def test_rows_that_do_not_change_are_neither_repeated_nor_skipped_while_items_arrive(
    stage: ShelfStage, sort: ShelfSort, filtered: bool
) -> None:
    """Defect: an order that is not total, with OFFSET, while items arrive: rows repeat or vanish."""
    choose = Random(f"{sort} {filtered}")
    groups = [await stage.add_group("Zoo")]
    await stage.add(*(StagedItem(title="same", size_bytes=5) for _ in range(6)))
    await stage.add(*(random_item(choose, groups) for _ in range(12)))
    view = ShelfView(ShelfFilters(kinds=("package",)) if filtered else ShelfFilters(), sort)
    before = stage.expected(view)
    changed: set[UUID] = set()
    seen: list[UUID] = []
    after: ShelfCursor | None = None
    while True:
        page = await page_of(stage, view, after=after, limit=2)
        seen += [row.id for row in page.rows]
        if page.next is None:
            break
        after = page.next
        arrived = [random_item(choose, groups) for _ in range(2)]
        gone = choose.choice(stage.items)
        keys = {item.row_key for item in (*arrived, gone)}
        changed |= stage.row_ids(keys)
        await stage.add(*arrived)
        changed |= stage.row_ids(keys)
        await stage.remove(gone)
        changed |= stage.row_ids(keys)
    still = [row for row in before if row not in changed]
    assert [row for row in seen if row in still] == still
    assert len([row for row in seen if row not in changed]) == len(
        {row for row in seen if row not in changed}
    )


async def test_rows_with_equal_dates_have_one_order(stage: ShelfStage) -> None:
    await stage.add(*(StagedItem(sent_at=START) for _ in range(10)))
    view = ShelfView()
    assert await read_all(stage, view, limit=1) == sorted((item.id for item in stage.items), reverse=True)


class TestGroups:
    """A group is listed when one member matches everything; it shows all of them."""

    async def test_a_group_matches_by_one_member_and_not_by_several_together(self, stage: ShelfStage) -> None:
        group = await stage.add_group("Heroes")
        await stage.add(
            StagedItem(group=group, channel=CHANNELS[0], tags=("elves",), size_bytes=10),
            StagedItem(group=group, channel=CHANNELS[1], tags=("resin",), size_bytes=30),
        )
        both = ShelfFilters(channels=CHANNELS[:1], tags=("resin",))
        assert await read_all(stage, ShelfView(both)) == []
        async with stage.database.transaction() as tx:
            assert (await count_shelf(tx, both)).rows == 0
        one = ShelfView(ShelfFilters(channels=CHANNELS[1:2], tags=("resin",)))
        page = await page_of(stage, one)
        (row,) = page.rows
        assert (row.id, row.member_count, row.size_bytes, row.tags) == (group, 2, 40, ["elves", "resin"])
        assert {channel.title for channel in row.channels} == {"Channel 0", "Channel 1"}

    async def test_a_group_is_found_by_the_date_and_size_of_any_member(self, stage: ShelfStage) -> None:
        group = await stage.add_group("Heroes")
        await stage.add(
            StagedItem(group=group, sent_at=START, size_bytes=10),
            StagedItem(group=group, sent_at=START + timedelta(days=30), size_bytes=5000),
        )
        old = ShelfFilters(date_to=START.date())
        between = ShelfFilters(
            date_from=(START + timedelta(days=3)).date(), date_to=(START + timedelta(days=9)).date()
        )
        small = ShelfFilters(max_bytes=20)
        old_and_large = ShelfFilters(date_to=START.date(), min_bytes=1000)
        for sort in SORTS:
            assert await read_all(stage, ShelfView(old, sort)) == [group]
            assert await read_all(stage, ShelfView(small, sort)) == [group]
            assert await read_all(stage, ShelfView(between, sort)) == []
            assert await read_all(stage, ShelfView(old_and_large, sort)) == []


class TestCopies:
    """Equal content in several places is one row."""

    async def test_copies_are_one_row_that_says_where_else_they_are(self, stage: ShelfStage) -> None:
        later = START + timedelta(days=5)
        await stage.add(
            StagedItem(state="stored", content="one", channel=CHANNELS[1], sent_at=START, title="first"),
            StagedItem(state="stored", content="one", channel=CHANNELS[0], sent_at=later, title="second"),
        )
        (row,) = (await page_of(stage, ShelfView())).rows
        assert (row.name, row.member_count, row.content_count, row.sort_at) == ("first", 2, 1, START)
        assert [channel.title for channel in row.channels] == ["Channel 1", "Channel 0"]
        assert [channel.title for channel in row.also_in] == ["Channel 0"]

    async def test_a_repost_counts_as_posted_when_its_content_was_first_posted(
        self, stage: ShelfStage
    ) -> None:
        later = START + timedelta(days=5)
        await stage.add(
            StagedItem(state="stored", content="one", sent_at=START),
            StagedItem(state="stored", content="one", channel=CHANNELS[1], sent_at=later),
        )
        recent = ShelfFilters(date_from=later.date())
        assert await read_all(stage, ShelfView(recent)) == []
        assert await read_all(stage, ShelfView(ShelfFilters(date_to=START.date()))) == [stage.items[0].id]


class TestCounts:
    """Counts come from the shelf, up to a cap and within a time."""

    async def test_the_count_is_that_of_the_rows_that_are_listed(self, stage: ShelfStage) -> None:
        """Defect: the count query misses a join, so it counts other rows than those that are listed."""
        await fill(stage, Random(3), count=40)
        for filters in (
            ShelfFilters(),
            ShelfFilters(creators=("mara",)),
            ShelfFilters(creators=("mara",), channels=CHANNELS[:2]),
            ShelfFilters(max_bytes=60),
        ):
            async with stage.database.transaction() as tx:
                count = await count_shelf(tx, filters)
            assert count.rows == len(await read_all(stage, ShelfView(filters)))

    async def test_counting_stops_at_the_cap(
        self, stage: ShelfStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listing, "COUNT_CAP", 3)
        await stage.add(*(StagedItem() for _ in range(4)))
        for filters in (ShelfFilters(), ShelfFilters(types=("zip",)), ShelfFilters(min_bytes=1)):
            async with stage.database.transaction() as tx:
                count = await count_shelf(tx, filters)
            assert (count.rows, count.more) == (3, True)

    async def test_a_count_that_takes_too_long_is_given_up_and_the_transaction_goes_on(
        self, stage: ShelfStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await stage.add(*(StagedItem() for _ in range(300)))
        monkeypatch.setattr(listing, "COUNT_MS", 1)
        await stage.ask(
            "create or replace function headgate_item_problem(of_item uuid) returns boolean"
            " language sql stable return (select pg_sleep(0.01) is null)"
        )
        await stage.ask("update shelf set facets = facets || headgate_facet('problem', '')")
        async with stage.database.transaction() as tx:
            count = await count_shelf(tx, ShelfFilters(problems=True))
            assert count.rows is None
            assert len((await list_shelf(tx, ShelfView(), limit=5)).rows) == 5

    async def test_what_came_above_the_first_row_is_counted(self, stage: ShelfStage) -> None:
        await stage.add(*(StagedItem(sent_at=START + timedelta(hours=hour)) for hour in range(3)))
        for filters in (ShelfFilters(), ShelfFilters(types=("zip",)), ShelfFilters(channels=CHANNELS[:1])):
            view = ShelfView(filters)
            (row,) = (await page_of(stage, view, limit=1)).rows
            top = listing.place_of(row, "newest")
            async with stage.database.transaction() as tx:
                assert (await count_before(tx, view, top)).rows == 0
            newer = row.sort_at + timedelta(seconds=1)
            await stage.add(
                StagedItem(sent_at=newer), StagedItem(sent_at=newer, type="rar", channel=CHANNELS[1])
            )
            async with stage.database.transaction() as tx:
                count = await count_before(tx, view, top)
            assert count.rows == (2 if filters == ShelfFilters() else 1)


async def test_facets_have_the_same_numbers_here_and_in_the_database(stage: ShelfStage) -> None:
    facets: list[tuple[FacetKind, str]] = [
        ("channel", str(uuid4())),
        ("topic", str(TopicName(uuid4(), "Größe/7"))),
        ("tag", "pre supported"),
        ("ungrouped", ""),
    ]
    for kind, key in facets:
        (row,) = await stage.ask("select headgate_facet($1, $2) as number", kind, key)
        assert row["number"] == facet_number(kind, key)


async def test_a_row_that_only_shares_a_facets_number_is_not_listed(stage: ShelfStage) -> None:
    await stage.add(StagedItem(creator="Mara"), StagedItem(creator="Tidewater"))
    await stage.ask(
        "update shelf set facets = facets || headgate_facet('creator', 'mara'),"
        " dated_facets = dated_facets || headgate_facet('creator', 'mara')"
    )
    await stage.ask(
        "insert into shelf_facet select headgate_facet('creator', 'mara'), sort_at, id, name_key, size_bytes"
        " from shelf on conflict do nothing"
    )
    filters = ShelfFilters(creators=("mara",))
    for sort in SORTS:
        assert await read_all(stage, ShelfView(filters, sort), limit=1) == [stage.items[0].id]
    async with stage.database.transaction() as tx:
        assert (await count_shelf(tx, filters)).rows == 1
