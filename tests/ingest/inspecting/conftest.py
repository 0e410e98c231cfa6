"""Fixtures of the tests that look into stored files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from inspecting_bench import InspectingBench, open_bench


@pytest.fixture
async def inspecting(database_url: str, tmp_path: Path) -> AsyncIterator[InspectingBench]:
    async with open_bench(database_url, tmp_path / "data") as bench:
        yield bench
