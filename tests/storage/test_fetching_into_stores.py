"""A whole download into each kind of store, with a process that dies in the middle."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bench import ProcessGone
from fetch_bench import FetchBench, content_of, named, open_fetch_bench

from headgate.storage.database import Database

FILES = [named("a.zip"), named("b.zip", 10), named("big.zip", 3_000_000)]


@pytest.fixture(params=["folder", "bucket"])
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    """What the settings say about the store."""
    return {} if request.param == "folder" else request.getfixturevalue("bucket_environment")


@pytest.fixture
async def fetching(
    database: Database, database_url: str, tmp_path: Path, environment: dict[str, str]
) -> AsyncIterator[FetchBench]:
    async with open_fetch_bench(database, database_url, tmp_path, environment=environment) as bench:
        yield bench


async def _assert_stored(fetching: FetchBench) -> None:
    assert {state.split()[1] for state in await fetching.states()} == {"stored"}
    assert await fetching.read_stored() == {content_of(file) for file in FILES}
    names = [name async for batch in fetching.parts.files.store.list_names() for name in batch]
    assert len(names) == len(FILES)
    assert fetching.spools() == []
    assert await fetching.ask_column("reserved") == [0]


async def test_files_are_stored_once_and_known_content_is_linked(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=FILES))
    await fetching.work()
    await fetching.hear(fetching.world.post("packs", files=FILES))
    await fetching.work()
    await _assert_stored(fetching)
    assert fetching.calls("download") == len(FILES)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("dies_at", [2, 150])
async def test_a_process_that_dies_in_the_middle_loses_and_doubles_nothing(
    fetching: FetchBench, dies_at: int
) -> None:
    await fetching.hear(fetching.world.post("packs", files=FILES))
    chunks = 0

    async def die(point: str) -> None:
        nonlocal chunks
        chunks += point == "download.chunk"
        if chunks == dies_at:
            raise ProcessGone

    fetching.world.on_point = die
    with pytest.raises(ProcessGone):
        await fetching.work()
    await fetching.die()
    await fetching.work()
    await _assert_stored(fetching)
