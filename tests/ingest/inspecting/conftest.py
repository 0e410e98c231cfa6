"""Fixtures of the tests that look into stored files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from inspecting_bench import START, InspectingBench

from headgate.app.parts import open_parts
from headgate.kernel.clock import VirtualClock
from headgate.kernel.settings import load_settings


@pytest.fixture
async def inspecting(database_url: str, tmp_path: Path) -> AsyncIterator[InspectingBench]:
    clock = VirtualClock(START)
    settings = load_settings({"HEADGATE_DATA_DIR": str(tmp_path / "data")})
    async with open_parts(settings, database_url, clock=clock, connectors={}) as parts:
        bench = InspectingBench(parts, clock)
        await bench.start()
        try:
            yield bench
        finally:
            await bench.close()
