"""Search with filters finds what a plain model finds: a thing of which one item matches all of them."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest
from shelf_stage import TAGS, WORDS, ModelRow, ShelfStage, StagedItem, random_filters, random_item

from headgate.catalogue.search import indexing, searching
from headgate.catalogue.search.indexing import index_next
from headgate.catalogue.search.places import SearchPlace
from headgate.catalogue.search.searching import search_library
from headgate.catalogue.search.verifying import list_differences
from headgate.domain.library.label_rules import label_key
from headgate.domain.library.search.search_documents import Term, parse_terms
from headgate.domain.library.search.search_words import split_words
from headgate.domain.library.shelf_filters import NO_FILTERS, ShelfFilters
from headgate.kernel.clock import RealClock
from headgate.storage.database import Database
from headgate.storage.shelf.touched import touch_items

CLOCK = RealClock()
TYPED = ("knight", "kn", "castle", "castle 1", "etoile", "mara", "tide water", "elves", "resin", "a")


@pytest.fixture
async def stage(database: Database) -> ShelfStage:
    made = ShelfStage(database)
    await made.open()
    return made


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of a few dozen items spans several slices, and a search several pages."""
    monkeypatch.setattr(indexing, "SLICE_SIZE", 5)
    monkeypatch.setattr(searching, "ENOUGH", 4)
    monkeypatch.setattr(searching, "GROWTH", 2)


async def index_all(stage: ShelfStage) -> None:
    while await index_next(stage.database, clock=CLOCK):
        pass
    assert [difference async for difference in list_differences(stage.database)] == []


async def find_all(stage: ShelfStage, typed: str, filters: ShelfFilters = NO_FILTERS) -> list[UUID]:
    """Search page after page, to the end."""
    found: list[UUID] = []
    after: SearchPlace | None = None
    while True:
        async with stage.database.transaction() as tx:
            page = await search_library(tx, typed, clock=CLOCK, filters=filters, limit=3, after=after)
        if page.meant:
            return []
        found += [hit.shelf_id for hit in page.hits]
        after = page.following
        if after is None:
            return found


def expected(stage: ShelfStage, typed: str, filters: ShelfFilters) -> set[UUID]:
    terms = parse_terms(typed)
    return {row.id for row in stage.rows() if _is_found(stage, row, terms, filters)}


def _is_found(stage: ShelfStage, row: ModelRow, terms: tuple[Term, ...], filters: ShelfFilters) -> bool:
    matching = [item for item in row.members if _alone(item).matches(filters)]
    if row.first.group and _has(terms, stage.groups[row.first.group]) and matching:
        return True
    return any(_has(terms, item.title, item.creator, *item.tags, "f") for item in matching)


def _alone(item: StagedItem) -> ModelRow:
    return ModelRow((item,))


def _has(terms: tuple[Term, ...], *texts: str) -> bool:
    words = split_words("\n".join(texts))
    return all(term.found_in(words) for term in terms)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("seed", range(10))
async def test_search_with_filters_finds_what_a_plain_model_finds(stage: ShelfStage, seed: int) -> None:
    choose = Random(seed)
    groups = [await stage.add_group(name) for name in ("Zoo", "castle 7", "knight")]
    for _ in range(8):
        await stage.add(*(random_item(choose, groups) for _ in range(4)))
        await index_all(stage)
    for fields in (0, 1, 1, 1, 2, 2, 2, 3, 3):
        typed, filters = choose.choice(TYPED), random_filters(choose, fields=fields)
        found = await find_all(stage, typed, filters)
        assert len(found) == len(set(found)), (typed, filters)
        assert set(found) == expected(stage, typed, filters), (typed, filters)


async def test_a_group_found_by_its_name_has_the_labels_that_its_members_get_later(
    stage: ShelfStage,
) -> None:
    group = await stage.add_group("Heroes")
    member = StagedItem(group=group, title=WORDS[0])
    await stage.add(member)
    await index_all(stage)
    wanted = ShelfFilters(tags=(label_key(TAGS[0]),))
    assert await find_all(stage, "heroes", wanted) == []
    async with stage.database.transaction() as tx:
        await tx.raw(
            "insert into item_label (item_id, kind, source, key, name, rule)"
            " values ($1, 'tag', 'rule', $2, $3, 'test')",
            [member.id, label_key(TAGS[0]), TAGS[0]],
        )
        touch_items(tx, [member.id])
    await index_all(stage)
    assert await find_all(stage, "heroes", wanted) == [group]


async def test_of_a_group_one_member_has_the_words_and_the_state(stage: ShelfStage) -> None:
    group = await stage.add_group("Heroes")
    await stage.add(
        StagedItem(group=group, title="dragon", state="stored"),
        StagedItem(group=group, title="knight", state="waiting"),
    )
    await index_all(stage)
    assert await find_all(stage, "knight", ShelfFilters(states=("stored",))) == []
    assert await find_all(stage, "knight", ShelfFilters(states=("waiting",))) == [group]
    assert await find_all(stage, "heroes", ShelfFilters(states=("stored",))) == [group]
