"""Damaged files come back from their platform; those of deleted messages come back with a copy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fetch_bench import FetchBench, content_of, named, open_fetch_bench

from headgate.ingest.storing.audit import AuditReport, audit_files
from headgate.storage.database import Database


@pytest.fixture
async def fetching(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FetchBench]:
    async with open_fetch_bench(database, database_url, tmp_path) as bench:
        yield bench


async def audit(bench: FetchBench) -> AuditReport:
    return await audit_files(bench.parts.files, bench.clock)


def overwrite_all(folder: Path) -> None:
    """Damage everything that is stored, without a change of its size."""
    for path in (folder / "blobs").glob("??/*"):
        path.write_bytes(bytes(path.stat().st_size))


async def problems(bench: FetchBench) -> list[bool]:
    """Return which rows of the library are shown as problems."""
    return [row["problem"] for row in await bench.rows("select problem from shelf order by id")]


async def test_a_damaged_file_is_fetched_again(fetching: FetchBench, tmp_path: Path) -> None:
    files = [named("a.zip"), named("big.zip", 3_000_000)]
    await fetching.hear(fetching.world.post("packs", files=files))
    await fetching.work()
    overwrite_all(tmp_path)
    report = await audit(fetching)
    assert report.audit is not None
    assert (report.audit.damaged, report.audit.refetched, report.audit.lost) == (2, 2, 0)
    assert await fetching.states() == ["a.zip wanted", "big.zip wanted"]
    await fetching.work()
    assert await fetching.states() == ["a.zip stored", "big.zip stored"]
    assert await fetching.read_stored() == {content_of(file) for file in files}
    assert (await audit(fetching)).damaged.blobs == 0
    await fetching.rest(200)
    assert await fetching.ask_column("lines") == [0]


async def test_a_lost_file_comes_back_when_its_content_is_posted_again(
    fetching: FetchBench, tmp_path: Path
) -> None:
    message = fetching.world.post("packs", files=[named("a.pdf")])
    await fetching.hear(message)
    await fetching.work()
    assert await problems(fetching) == [False]
    async with fetching.database.transaction() as tx:
        await tx.connection.execute("update sighting set deleted_at = now()")
    overwrite_all(tmp_path)
    assert (await audit(fetching)).damaged.files == 1
    await fetching.work()
    assert await problems(fetching) == [True]
    await fetching.hear(fetching.world.post("packs", files=[named("a.pdf")]))
    await fetching.work()
    await fetching.rest(5)
    assert await problems(fetching) == [False]
    assert await fetching.states() == ["a.pdf stored", "a.pdf stored"]
    assert await fetching.read_stored() == {content_of(named("a.pdf"))}
    assert (await audit(fetching)).damaged.blobs == 0
