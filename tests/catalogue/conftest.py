"""A library with labels on a fresh database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from label_bench import LabelBench, open_bench

from headgate.storage.database import Database


@pytest.fixture
async def library(database: Database, database_url: str) -> AsyncIterator[LabelBench]:
    async with open_bench(database, database_url) as bench:
        yield bench
