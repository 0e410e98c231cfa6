"""The index of search follows its sources, whatever interrupts its jobs, and can be rebuilt and verified."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from missing import Missing
from search_bench import SearchBench

from headgate.catalogue.search import indexing
from headgate.catalogue.search.indexing import (
    get_progress,
    index_next,
    read_batch,
    start_reindex,
    write_batch,
)
from headgate.catalogue.search.verifying import SearchDifference
from headgate.ingest.search.indexing import KEY, KIND
from headgate.jobs.execution import REST
from headgate.storage.jobs.dead_letters import DeadLetter, bury
from headgate.storage.search.queue import ROW_LENGTH, list_due, note_due


@pytest.fixture
def bench(missing: Missing) -> SearchBench:
    return SearchBench(missing)


async def test_one_statement_notes_any_number_of_items_in_rows_of_bounded_length(bench: SearchBench) -> None:
    ids = [bench.missing.ids.new() for _ in range(2 * ROW_LENGTH + 1)]
    async with bench.missing.database.transaction() as tx:
        await note_due(tx, ids[:ROW_LENGTH], ids[ROW_LENGTH:])
        await note_due(tx, (), ())
    assert await bench.column("due") == [3]
    await bench.missing.work()
    assert await bench.column("due") == [0]


async def test_what_did_not_change_is_not_written_again(bench: SearchBench) -> None:
    await bench.post("knight.zip")
    before = await bench.column("versions")
    await bench.note(await bench.item_id("knight"))
    assert await bench.column("versions") == before


async def test_a_change_while_a_batch_is_read_is_indexed_by_the_next_one(bench: SearchBench) -> None:
    await bench.post("knight.zip")
    knight = await bench.item_id("knight")
    database, clock = bench.missing.database, bench.missing.clock
    async with database.transaction() as tx:
        await note_due(tx, [knight], ())
    batch = await read_batch(database, clock=clock)
    assert batch is not None
    await bench.run("hide", title="knight", hidden=True)
    async with database.transaction() as tx:
        await note_due(tx, [knight], ())
        assert await write_batch(tx, batch)
    assert await bench.column("documents") == [knight]
    await bench.missing.work()
    assert await bench.column("documents") == []


async def test_of_two_jobs_with_one_batch_the_slower_one_writes_nothing(bench: SearchBench) -> None:
    await bench.post("knight.zip")
    knight = await bench.item_id("knight")
    database, clock = bench.missing.database, bench.missing.clock
    async with database.transaction() as tx:
        await note_due(tx, [knight], ())
    slow = await read_batch(database, clock=clock)
    await bench.run("hide", title="knight", hidden=True)
    assert await index_next(database, clock=clock)
    assert slow is not None
    async with database.transaction() as tx:
        assert not await write_batch(tx, slow)
    assert await bench.column("documents") == []


async def test_two_that_index_at_once_fill_slices_one_after_the_other(
    bench: SearchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "SLICE_SIZE", 4)
    monkeypatch.setattr(indexing, "BATCH", 3)
    await bench.missing.accept(*(bench.message(f"knight {number}.zip") for number in range(12)))
    database, clock = bench.missing.database, bench.missing.clock

    async def index_all() -> None:
        while await index_next(database, clock=clock):
            pass

    await asyncio.gather(index_all(), index_all())
    assert sorted(await bench.column("slices")) == [0] * 4 + [1] * 4 + [2] * 4
    await bench.missing.work()
    assert await bench.differences() == []


async def test_a_job_that_dies_between_its_steps_leaves_everything_due(bench: SearchBench) -> None:
    await bench.missing.accept(bench.message("knight.zip"))
    database = bench.missing.database
    batch = await read_batch(database, clock=bench.missing.clock)
    assert batch is not None
    with pytest.raises(RuntimeError, match="killed"):
        async with database.transaction() as tx:
            await write_batch(tx, batch)
            raise RuntimeError("killed")
    assert await bench.column("documents") == []
    await bench.missing.work()
    assert await bench.names("knight") == ["knight"]


async def test_an_index_that_failed_for_good_rests_before_it_is_tried_again(bench: SearchBench) -> None:
    await bench.missing.accept(bench.message("knight.zip"))
    now = bench.missing.clock.now()
    async with bench.missing.database.transaction() as tx:
        assert await list_due(tx, rested_since=now - REST) == [KEY]
        letter = DeadLetter(
            id=bench.missing.ids.new(),
            kind=KIND,
            key=KEY,
            error_class="Crashed",
            message="",
            stack="",
            attempts=1,
            crashes=5,
            first_tried_at=now,
            died_at=now,
        )
        await bury(tx, letter)
        assert await list_due(tx, rested_since=now - REST) == []
        assert await list_due(tx, rested_since=now) == [KEY]


async def test_a_lost_index_is_rebuilt_and_goes_on_where_it_was_stopped(
    bench: SearchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, clock = bench.missing.database, bench.missing.clock
    first = bench.message("a.zip", "Colossal", album="x")
    await bench.take_in(
        first, bench.message("b.zip", album="x"), *(bench.message(f"k{n}.zip") for n in range(5))
    )
    await bench.run("empty")
    assert {difference.problem for difference in await bench.differences()} == {"missing"}
    assert await start_reindex(database)
    batch = await read_batch(database, clock=clock, limit=3)
    assert batch is not None
    async with database.transaction() as tx:
        assert await write_batch(tx, batch)
    assert not await start_reindex(database)
    progress = await get_progress(database)
    assert (progress.done, progress.total, progress.under_way) == (3, 8, True)
    while (await get_progress(database)).under_way:
        await index_next(database, clock=clock)
    assert (await get_progress(database)).done == 8
    assert await bench.differences() == []
    assert await bench.names("colossal") == ["Colossal"]


async def test_a_rebuild_is_due_work_also_when_nobody_waits_for_it(bench: SearchBench) -> None:
    await bench.post("knight.zip")
    await bench.run("empty")
    await start_reindex(bench.missing.database)
    await bench.missing.work()
    assert not (await get_progress(bench.missing.database)).under_way
    assert await bench.names("knight") == ["knight"]


async def test_verifying_names_what_is_missing_left_over_or_different(bench: SearchBench) -> None:
    for name in ("gone", "changed", "hidden", "right"):
        await bench.post(f"{name}.zip")
    assert await bench.differences() == []
    gone, changed, hidden = [await bench.item_id(name) for name in ("gone", "changed", "hidden")]
    async with bench.missing.database.transaction() as tx:
        await tx.raw("delete from search_document where id = $1", [gone])
        await tx.raw("delete from search_word where word = 'right'")
    await bench.run("damage", id=changed)
    await bench.run("hide", title="hidden", hidden=True)
    expected = {
        SearchDifference(gone, "missing"),
        SearchDifference(changed, "different"),
        SearchDifference(hidden, "left over"),
        SearchDifference(await bench.item_id("right"), "words unknown"),
    }
    assert set(await bench.differences()) == expected
    await start_reindex(bench.missing.database)
    await bench.missing.work()
    assert await bench.differences() == []


async def test_what_waits_to_be_indexed_is_no_difference(bench: SearchBench) -> None:
    await bench.missing.accept(bench.message("knight.zip"))
    assert await bench.differences() == []


async def test_a_document_of_nothing_is_removed_by_a_rebuild(bench: SearchBench) -> None:
    stray = UUID(int=7)
    async with bench.missing.database.transaction() as tx:
        await tx.raw(
            "insert into search_document (id, is_group, slice, posted_at, names, words)"
            " values ($1, false, 0, $2, '''lost''', '''000lost''')",
            [stray, bench.missing.clock.now()],
        )
    assert await bench.differences() == [SearchDifference(stray, "left over")]
    await start_reindex(bench.missing.database)
    await bench.missing.work()
    assert await bench.column("documents") == []
