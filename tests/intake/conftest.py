"""Fixtures of the intake tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bench import Bench, build_bench
from listing_bench import ListingBench
from missing import Missing, build_missing

from headgate.storage.database import Database
from headgate.testing import PRESETS


@pytest.fixture
async def bench(database: Database, database_url: str) -> AsyncIterator[Bench]:
    """Live events are hints here, and pages may be short without being the last."""
    bench = build_bench(database, database_url)
    yield bench
    await bench.close()


@pytest.fixture
async def proving(database: Database, database_url: str) -> AsyncIterator[Bench]:
    """Live events are proof here, and the head may name a message that is deleted."""
    bench = build_bench(database, database_url, PRESETS["discord_like"])
    yield bench
    await bench.close()


@pytest.fixture
async def lensed(database: Database, database_url: str) -> AsyncIterator[Bench]:
    """The platform can be asked for documents and photos alone."""
    bench = build_bench(database, database_url, PRESETS["telegram_like"])
    yield bench
    await bench.close()


@pytest.fixture
async def missing(database: Database, database_url: str) -> AsyncIterator[Missing]:
    missing = build_missing(database, database_url)
    await missing.follow()
    yield missing
    await missing.close()


@pytest.fixture
async def listed(database: Database, database_url: str) -> AsyncIterator[ListingBench]:
    """Listings that are looked at one by one."""
    listed = ListingBench(build_bench(database, database_url, PRESETS["plain"]))
    yield listed
    await listed.close()


@pytest.fixture
async def swept(database: Database, database_url: str) -> AsyncIterator[ListingBench]:
    """Listings of a site that tells all its news at once."""
    swept = ListingBench(build_bench(database, database_url, PRESETS["plain"].but(sweeps=True)))
    yield swept
    await swept.close()
