"""The limit of settings holds while bytes arrive, where the size of a file is only its sender's claim."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench import DEFAULT_PROFILE
from fetch_bench import FetchBench, named, open_fetch_bench

from headgate.catalogue.files import fetch_items
from headgate.storage.database import Database
from headgate.testing.content.content import SimFile

LIMIT = 1_000_000
CHUNK = DEFAULT_PROFILE.chunk_bytes


@pytest.fixture
async def fetching(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FetchBench]:
    """A platform whose senders claim sizes, and a channel with a limit."""
    profile = DEFAULT_PROFILE.but(exact_sizes=False)
    async with open_fetch_bench(database, database_url, tmp_path, profile) as bench:
        await bench.set(fetch_max_bytes=LIMIT)
        yield bench


def claiming(size_bytes: int, name: str, real_bytes: int) -> SimFile:
    return replace(named(name, real_bytes), size_bytes=size_bytes)


async def hear(bench: FetchBench, *files: SimFile) -> None:
    await bench.hear(bench.world.post("packs", files=files))


def count_chunks(bench: FetchBench) -> list[str]:
    points: list[str] = []

    async def note(point: str) -> None:
        if point == "download.chunk":
            points.append(point)

    bench.world.on_point = note
    return points


@pytest.mark.parametrize("claimed", [1_000, 0], ids=["claimed", "unknown"])
async def test_a_file_larger_than_it_claims_stops_at_the_limit_and_leaves_nothing(
    fetching: FetchBench, claimed: int
) -> None:
    chunks = count_chunks(fetching)
    await hear(fetching, claiming(claimed, "bomb.zip", 20 * LIMIT))
    await fetching.work()
    assert await fetching.states() == ["bomb.zip failed"]
    assert len(chunks) * CHUNK <= LIMIT + CHUNK
    assert fetching.spools() == []
    assert await fetching.read_stored() == set()
    assert await fetching.ask_column("reserved") == [0]
    (row,) = await fetching.rows("select error_class, error_message from item_file")
    assert row["error_class"] == "TooLarge"
    assert "larger than the limit for downloads of 1.0 MB" in row["error_message"]


async def test_a_file_over_the_limit_is_not_tried_again_until_a_person_asks(fetching: FetchBench) -> None:
    file = claiming(1_000, "bomb.zip", 3 * LIMIT)
    await hear(fetching, file)
    await fetching.work()
    await fetching.rest(3 * 86_400)
    assert fetching.calls("download") == 1
    (row,) = await fetching.rows("select id from item")
    async with fetching.database.transaction() as tx:
        await fetch_items(tx, [row["id"]], now=fetching.clock.now())
    await fetching.work()
    assert await fetching.states() == ["bomb.zip stored"]


async def test_a_file_up_to_the_limit_is_stored_whatever_it_claims(fetching: FetchBench) -> None:
    await hear(fetching, claiming(1_000, "a.zip", LIMIT))
    await fetching.work()
    assert await fetching.states() == ["a.zip stored"]


async def test_stored_volumes_count_towards_the_limit_of_their_set(fetching: FetchBench) -> None:
    volumes = [claiming(1_000, f"pack.part{n}.rar", LIMIT * 2 // 5) for n in (1, 2, 3)]
    for volume in volumes:
        await hear(fetching, volume)
        await fetching.work()
    states = sorted(state.split()[1] for state in await fetching.states())
    assert states == ["failed", "stored", "stored"]
