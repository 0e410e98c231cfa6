"""Processes that are killed with -9 in the middle of a download: the next one goes on from the spool."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from bench import DEFAULT_PROFILE
from fetch_bench import content_of, open_fetch_bench
from fetching_child import FILES, begin

from headgate.storage.blobs.spools import BATCH_BYTES
from headgate.storage.database import Database

CHILD = Path(__file__).with_name("fetching_child.py")
KILLED = -9


async def _fetch_until_killed(url: str, folder: Path, *, process: int, dies_at: int) -> int:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CHILD),
        url,
        str(folder),
        str(process),
        str(dies_at),
        env={**os.environ, "PYTHONPATH": str(CHILD.parent)},
    )
    return await child.wait()


@pytest.mark.long
async def test_a_killed_download_goes_on_from_its_spool_and_nothing_is_doubled(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    assert await _fetch_until_killed(database_url, tmp_path, process=1, dies_at=500) == KILLED
    assert await _fetch_until_killed(database_url, tmp_path, process=2, dies_at=60) == KILLED
    async with open_fetch_bench(database, database_url, tmp_path, process=3) as fetching:
        await begin(fetching, process=3)
        chunks = 0

        async def count(point: str) -> None:
            nonlocal chunks
            chunks += point == "download.chunk"

        fetching.world.on_point = count
        await fetching.work()
        await fetching.rest(120)
        assert await fetching.states() == ["a.zip stored", "b.zip stored", "big.zip stored"]
        assert await fetching.read_stored() == {content_of(file) for file in FILES}
        assert len(await fetching.ask_column("blob_ids")) == len(FILES)
        assert len(list((tmp_path / "blobs").glob("*/*"))) == len(FILES)
        assert fetching.spools() == []
        assert await fetching.ask_column("reserved") == [0]
        # A batch of it at least was durable, and is not downloaded again.
        most_bytes = sum(len(content_of(file)) for file in FILES) - BATCH_BYTES
        assert (chunks - len(FILES)) * DEFAULT_PROFILE.chunk_bytes <= most_bytes
