"""The benchmark of search loads documents as the product writes them, and finds something in each case."""

from __future__ import annotations

from time import perf_counter

from headgate.catalogue.search.verifying import list_differences
from headgate.dev.bench.library.library_load import load_library
from headgate.dev.bench.library.library_plan import LibraryPlan
from headgate.dev.bench.library.search_cases import measure_search
from headgate.dev.bench.library.search_plan import load_search, search_cases
from headgate.dev.bench.library.shelf import ShelfSizes, measure_shelf
from headgate.kernel.clock import RealClock
from headgate.storage.database import Database, connect

ITEMS = 600


async def test_loaded_documents_are_those_that_indexing_would_write(
    database: Database, database_url: str
) -> None:
    async with await connect(database_url) as connection:
        await load_library(connection, LibraryPlan(ITEMS), lambda _: None)
        loaded = await load_search(connection, ITEMS)
    assert loaded > ITEMS
    assert [difference async for difference in list_differences(database)] == []
    figures = await measure_search(
        database, search_cases(ITEMS), clock=RealClock(), timer=perf_counter, rounds=20
    )
    assert 0 < figures.p50_ms <= figures.p95_ms
    found = {name for name, figure in figures.cases.items() if figure["hits"] > 0}
    assert found >= {
        "rare: few items",
        "common",
        "two letters",
        "misspelt",
        "inside archives",
        "inside archives, unfinished",
    }
    assert figures.cases["rare: not there"]["hits"] == 0


async def test_the_benchmark_of_the_shelf_measures_search_too() -> None:
    report = await measure_shelf(ShelfSizes(items=ITEMS, rounds=2, messages=60, ingest_rounds=1))
    assert report.values["documents"] > ITEMS
    assert 0 < report.values["search_ms_p50"] <= report.values["search_ms_p95"]
    assert report.values["search_cases"]["common"]["hits"] > 0
