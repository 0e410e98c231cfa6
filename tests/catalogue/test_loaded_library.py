"""The library that benchmarks load is what the product would have made of it."""

from __future__ import annotations

import pytest

from headgate.dev.bench.library.filter_cases import CASES
from headgate.dev.bench.library.library_load import load_library
from headgate.dev.bench.library.library_plan import COPIES, GROUPS, LibraryPlan
from headgate.storage.database import Database, connect
from headgate.storage.shelf.verify import verify_shelf

ITEMS = 1_500


def test_a_plan_has_the_groups_and_copies_that_it_promises() -> None:
    rows = list(LibraryPlan(20_000).rows())
    assert sum(len(row.members) for row in rows) == 20_000
    assert len({item.number for row in rows for item in row.members}) == 20_000
    groups = sum(row.group is not None for row in rows)
    copies = sum(len(row.members) - 1 for row in rows if row.group is None)
    assert groups == pytest.approx(20_000 / GROUPS, rel=0.02)
    assert copies == pytest.approx(20_000 / COPIES, rel=0.02)


async def test_the_loaded_shelf_is_what_the_product_derives(database: Database, database_url: str) -> None:
    async with await connect(database_url) as connection:
        await load_library(connection, LibraryPlan(ITEMS), lambda _items: None)
    (*_, found) = [one async for one in verify_shelf(database, repair=False)]
    assert (found.items, found.wrong_rows, found.wrong_facets) == (ITEMS, 0, 0)


def test_every_case_is_a_view_that_can_be_read() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.view.filters for case in CASES)
